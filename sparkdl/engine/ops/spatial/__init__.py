"""Operations on sequences, images and volumes: sliding windows and resizing."""
