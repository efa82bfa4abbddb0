"""The evidence table: localizers without a model beside released answers of other systems, on real issues under one rule."""
