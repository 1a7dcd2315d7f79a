"""What becomes of a grain: it fades, is put aside, comes back by use, and goes only on a person's word."""
