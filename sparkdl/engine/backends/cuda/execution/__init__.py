"""Programs on a device: sessions, feeds, captured launches, and results read later."""
