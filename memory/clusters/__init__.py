"""What hangs together: communities of grains and entries, their names, and how widely a grain is of use."""
