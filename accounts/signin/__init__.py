"""Sign-in of people: passwords, second factors, lock-out, sessions and one-time links."""
