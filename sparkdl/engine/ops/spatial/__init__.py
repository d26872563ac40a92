"""Operations on sequences, images and volumes: windows that slide, and other sizes."""
