"""Ideas nobody asked for: papers of different clusters that share an entity or a gap, checked by their passages."""
