"""What only training at the scale of nano, on a CPU, needs: the student from scratch, its exercises, and steps that suit it."""
