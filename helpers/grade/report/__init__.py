"""What the instructor and the students get: tables, files for other systems, pages."""
