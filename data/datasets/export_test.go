package datasets

// UseFiles replaces sizes and checksums of the four files, in their order, until restore is called.
func UseFiles(sizes [4]int64, sums [4]string) (restore func()) {
	original := mnistFiles
	for i := range mnistFiles {
		mnistFiles[i].size, mnistFiles[i].sha256 = sizes[i], sums[i]
	}
	return func() { mnistFiles = original }
}

// FileNames are the names of the four files.
func FileNames() (names []string) {
	for _, f := range mnistFiles {
		names = append(names, f.name)
	}
	return names
}
