"""What ``fusesearch install`` writes into the files of coding agents, and takes back."""
