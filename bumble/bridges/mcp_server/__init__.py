"""What other programs get of an entity over the Model Context Protocol."""
