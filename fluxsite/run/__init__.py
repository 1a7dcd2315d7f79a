"""The processes of a running instance: started, watched, bounded and ended."""
