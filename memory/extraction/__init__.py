"""flux_extracts: what is handed over is kept as it stands, and a local model finds the single statements in it."""
