"""What processes of one machine do together through memory that all of them map."""
