"""From a config to a finished run: data, network, bias model, training, evaluation."""
