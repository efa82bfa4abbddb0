"""What source code is: kinds of files, languages, spans, outline, names, calls, graph."""
