// Carries the precompiled header that all tests reuse.
