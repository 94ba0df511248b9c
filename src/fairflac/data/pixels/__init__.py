"""From image files to pixels: decoding, the cache, augmentation and resampling."""
