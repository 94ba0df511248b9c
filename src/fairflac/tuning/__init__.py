"""Search for hyper-parameters, judged on validation data without attribute labels."""
