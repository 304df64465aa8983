"""Reports as HTML pages: gathering of their data, and writing of the pages."""
