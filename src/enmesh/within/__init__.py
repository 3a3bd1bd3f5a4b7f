"""What acts within one sample, or through a driver that was not recorded."""
