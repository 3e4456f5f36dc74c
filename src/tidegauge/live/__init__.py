"""A local page that follows a run while it goes and browses finished ones. It only reads run directories."""
