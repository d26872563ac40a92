"""Reports of fits: self-contained HTML pages that need no network access."""
