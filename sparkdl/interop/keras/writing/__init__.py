"""Networks written as .keras archives."""
