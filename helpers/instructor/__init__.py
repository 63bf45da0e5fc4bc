"""What an instructor uses: building the lessons from their solutions."""
