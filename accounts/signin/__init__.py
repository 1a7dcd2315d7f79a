"""How people sign in: password, second factor, lock-out, sessions, and the one-time links before all that."""
