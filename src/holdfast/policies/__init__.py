"""What varies between presets: policies compute changes, they never write."""
