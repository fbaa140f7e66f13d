package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/choice"

// What the shapes of convolutions and their gradients are computed by where estimates are in favour of it. Without
// them, tiles over rows compute everything.
var (
	byAbreast         = choice.New("conv: several images side by side")
	byApart           = choice.New("conv: groups of several inputs apart")
	byCoveredChannels = choice.New("conv: windows over whole images, channel by channel")
	byCoveredAxes     = choice.New("conv: covered axes as channels")
	byFew             = choice.New("conv: kernel gradients with inputs in vectors")
	byFrames          = choice.New("conv: images copied with zeros around them")
	byGradientBlocks  = choice.New("conv: kernel gradients from blocks of copies")
	byGradientCopies  = choice.New("conv: kernel gradients from copies")
	byGroupLanes      = choice.New("conv: groups in the lanes of vectors")
	byOverlaps        = choice.New("conv: input gradients that overlap")
	byPads            = choice.New("conv: padding copied")
	byPlanes          = choice.New("conv: inputs of groups in planes")
	byRepeats         = choice.New("conv: channels repeated for filters")
	bySlides          = choice.New("conv: sliding over rows")
	bySlideCopies     = choice.New("conv: sliding over copied rows")
	bySlideSums       = choice.New("conv: kernel gradients by sliding over rows")
	bySplits          = choice.New("conv: groups copied out")
	bySpreadCosts     = choice.New("conv: taps as columns where they cost less")
	bySpreads         = choice.New("conv: taps as columns")
	byRulesAVX2       = choice.New("conv: rules for AVX2")
	byStridedCopies   = choice.New("conv: sliding over copied rows with strides")
	byTapRows         = choice.New("conv: taps as rows")
	byTogether        = choice.New("conv: phases of input gradients together")
	byUnfolds         = choice.New("conv: small images unfolded")
	byUnfoldedRows    = choice.New("conv: rows of groups unfolded")
	byWide            = choice.New("conv: along the width")
	byWinograd        = choice.New("conv: Winograd")
	byWinogradWeights = choice.New("conv: Winograd for kernel gradients")
)
