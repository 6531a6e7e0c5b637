"""strata bench: Strata beside other libraries, on generated and real inputs."""
