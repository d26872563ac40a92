"""Programs on a device: sessions, feeds, captured graphs, and results read later."""
