// Follows.
