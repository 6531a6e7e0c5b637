"""What the command `strata` shows."""
