package main

import (
	"math/rand/v2"
	"strings"
)

// Random calls of einsum in the forms that networks are written in, and of functions on images whose channels are in
// front.

var otherForms = []drawn{
	{"einsum", "float32 float32 float64 bfloat16", formArguments},
	{"rgb_to_grayscale rgb_to_hsv hsv_to_rgb", "float32 float32 float64", firstColors},
	{"gaussian_blur", "float32", func(r *rand.Rand, d string, s []int) []argument {
		return append(firstPictures(r, d, s), value([]int{3, 3}), value([]float64{1, 1}), value("channels_first"))
	}},
	{"sobel_edges", "float32", func(r *rand.Rand, d string, s []int) []argument {
		return append(firstPictures(r, d, s), value("channels_first"))
	}},
	{"resize", "float32", func(r *rand.Rand, d string, s []int) []argument {
		return append(firstPictures(r, d, s), value([]int{pick(r, 5, 8, 16, 33), pick(r, 5, 8, 16, 33)}), value(pick(r, "nearest", "bilinear", "bicubic")),
			value(false), value(false), value(false), value("constant"), value(0.0), value("channels_first"))
	}},
	{"max_pool average_pool", "float32", func(r *rand.Rand, d string, s []int) []argument {
		return append(firstPictures(r, d, s), value(pick(r, []int{2, 2}, []int{3, 3}, []int{1, 2})), value(nil), value("valid"), value("channels_first"))
	}},
	{"space_to_depth", allFloats, func(r *rand.Rand, d string, s []int) []argument {
		return append(firstPictures(r, d, s), value(2), value("channels_first"))
	}},
	{"extract_patches", "float32", func(r *rand.Rand, d string, s []int) []argument {
		return append(firstPictures(r, d, s), value([]int{4, 4}), value(nil), value(1), value("valid"), value("channels_first"))
	}},
}

// channelsInFront moves the channels of pictures.
func channelsInFront(s []int) []int { return []int{s[0], s[3], s[1], s[2]} }

func firstPictures(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, channelsInFront(pictureShape(r, s, pick(r, 1, 3, 8, 17)))))}
}

func firstColors(r *rand.Rand, d string, s []int) []argument {
	t := drawnTensor(d, channelsInFront(pictureShape(r, s, 3)))
	t.Low = 0
	return []argument{one(t), value("channels_first")}
}

// einsumForms are subscripts of attention, of layers that keep several axes, of products of three, with an ellipsis,
// of diagonals, and without a result.
var einsumForms = strings.Fields("bqhd,bkhd->bhqk bhqk,bkhd->bqhd ...ij,...jk->...ik bij,bjk,bkl->bil bii->bi bii->b ij,j abc->cb bi,bj->bij btd,de->bte " +
	"btd,hde->bthe bthe,hed->btd bi,bi->b ...d,d->... bi,oij,bj->bo abij,abjk->abik ij,kj->ik bcxy,bcxy->bc nchw,oc->nohw bse,btf,ef->bst")

// mostFormWork bounds the products of an einsum, for each element of its operands.
const mostFormWork = 128

func formArguments(r *rand.Rand, d string, s []int) []argument {
	n := elements(s)
	form := pick(r, einsumForms...)
	first := strings.ReplaceAll(strings.Split(strings.Split(form, "->")[0], ",")[0], "...", "X")
	sizes, work := map[rune]int{}, 1
	for _, l := range strings.ReplaceAll(form, "...", "X") {
		if sizes[l] == 0 && l != ',' && l != '-' && l != '>' {
			sizes[l] = pick(r, 2, 3, 4, 8, 10, 16, 32)
			work *= sizes[l]
		}
	}
	size := 1
	for _, l := range first {
		size *= sizes[l]
	}
	if l := rune(first[0]); strings.Count(first, string(l)) == 1 && size < n { // as large as it may be
		sizes[l] *= max(min(n/size, mostFormWork*n/max(work, 1)), 1)
	}
	list := []argument{value(form)}
	for _, letters := range strings.Split(strings.Split(form, "->")[0], ",") {
		shape := []int{}
		for _, l := range strings.ReplaceAll(letters, "...", "X") {
			shape = append(shape, sizes[l])
		}
		list = append(list, one(drawnTensor(d, shape)))
	}
	return list
}
