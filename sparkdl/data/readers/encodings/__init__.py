"""How one value or record is encoded, whatever file it stands in."""
