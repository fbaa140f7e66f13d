package datasets

import "fmt"

var fashionFiles = collection{"fashion-mnist", kerasFiles, []published{
	{"train-images-idx3-ubyte.gz", 26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
	{"train-labels-idx1-ubyte.gz", 29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
	{"t10k-images-idx3-ubyte.gz", 4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
	{"t10k-labels-idx1-ubyte.gz", 5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
}}

// FashionMNIST loads the images of clothes by Zalando Research: 60,000 grey images of 28 x 28 pixels for training,
// 10,000 for testing, and their labels: 0 T-shirt or top, 1 trousers, 2 pullover, 3 dress, 4 coat, 5 sandal, 6 shirt, 7
// sneaker, 8 bag, 9 ankle boot.
//
// The files, in the format of MNIST, come from the folder given with [Directory], from the cache folder
// (gokeras/fashion-mnist in the user's cache folder), or, with [Download], from the servers of Keras (31 MB). Nothing
// is embedded.
func FashionMNIST(options ...Option) (*Images, error) {
	c, err := configure(options, Option.apply)
	if err == nil && c.directory != "" && c.download == nil && !c.embedded {
		var d *Images
		if d, err = readDirectory(c.directory, FromDirectory); err == nil { // also under other names in circulation
			d.Name = "Fashion-MNIST"
			return d, nil
		}
	}
	if err == nil {
		var dir string
		var source Source
		if dir, source, err = fashionFiles.locate(c); err == nil {
			var d *Images
			if d, err = readDirectory(dir, source); err == nil {
				d.Name = "Fashion-MNIST"
				return d, nil
			}
		}
	}
	return nil, fmt.Errorf("datasets: FashionMNIST: %w", err)
}
