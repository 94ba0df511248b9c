"""What the paper printed, and at which scale it is made again."""
