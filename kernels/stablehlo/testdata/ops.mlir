// constant/float16[3]
module @constant_float16_3_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<3xi32>) -> (tensor<3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x007E85B8FE2E"> : tensor<3xf16> loc(#loc0)
    return %v0, %arg0 : tensor<3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// iota/float16[70] axis 0
module @iota_float16_70__axis_0 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<3xi32>) -> (tensor<70xf16>, tensor<3xi32>) {
    %v0 = stablehlo.iota dim = 0 : tensor<70xf16> loc(#loc0)
    return %v0, %arg0 : tensor<70xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// rng_bits/[4] stream 0
module @rng_bits__4__stream_0 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4xui32>, %arg1: tensor<3xi32>) -> (tensor<4xui32>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x00000000"> : tensor<ui32> loc(#loc0)
    %v1 = func.call @philox_1(%arg0, %v0) : (tensor<4xui32>, tensor<ui32>) -> tensor<4xui32> loc(#loc0)
    %v2 = "stablehlo.slice"(%v1) <{limit_indices = array<i64: 4>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> (tensor<4xui32>) loc(#loc0)
    return %v2, %arg1 : tensor<4xui32>, tensor<3xi32>
  }
  func.func private @philox_1(%state: tensor<4xui32>, %stream: tensor<ui32>) -> tensor<4xui32> {
    %v0 = "stablehlo.slice"(%state) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> (tensor<1xui32>)
    %v1 = stablehlo.reshape %v0 : (tensor<1xui32>) -> tensor<ui32>
    %v2 = stablehlo.broadcast_in_dim %v1, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %v3 = "stablehlo.slice"(%state) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> (tensor<1xui32>)
    %v4 = stablehlo.reshape %v3 : (tensor<1xui32>) -> tensor<ui32>
    %v5 = stablehlo.broadcast_in_dim %v4, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %v6 = stablehlo.iota dim = 0 : tensor<1xui32>
    %v7 = stablehlo.broadcast_in_dim %stream, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %v8 = "stablehlo.slice"(%state) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> (tensor<1xui32>)
    %v9 = stablehlo.reshape %v8 : (tensor<1xui32>) -> tensor<ui32>
    %v10 = stablehlo.broadcast_in_dim %v9, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %v11 = "stablehlo.slice"(%state) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> (tensor<1xui32>)
    %v12 = stablehlo.reshape %v11 : (tensor<1xui32>) -> tensor<ui32>
    %v13 = stablehlo.broadcast_in_dim %v12, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %v14 = stablehlo.constant dense<"0x531F51D2"> : tensor<1xui32>
    %v15 = stablehlo.constant dense<"0x578D9ECD"> : tensor<1xui32>
    %v16 = stablehlo.constant dense<"0xB979379E"> : tensor<1xui32>
    %v17 = stablehlo.constant dense<"0x85AE67BB"> : tensor<1xui32>
    %v18 = stablehlo.convert %v6 : (tensor<1xui32>) -> tensor<1xui64>
    %v19 = stablehlo.convert %v14 : (tensor<1xui32>) -> tensor<1xui64>
    %v20 = stablehlo.multiply %v18, %v19 : tensor<1xui64>
    %v21 = stablehlo.multiply %v6, %v14 : tensor<1xui32>
    %v22 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v23 = stablehlo.shift_right_logical %v20, %v22 : tensor<1xui64>
    %v24 = stablehlo.convert %v23 : (tensor<1xui64>) -> tensor<1xui32>
    %v25 = stablehlo.convert %v10 : (tensor<1xui32>) -> tensor<1xui64>
    %v26 = stablehlo.convert %v15 : (tensor<1xui32>) -> tensor<1xui64>
    %v27 = stablehlo.multiply %v25, %v26 : tensor<1xui64>
    %v28 = stablehlo.multiply %v10, %v15 : tensor<1xui32>
    %v29 = stablehlo.shift_right_logical %v27, %v22 : tensor<1xui64>
    %v30 = stablehlo.convert %v29 : (tensor<1xui64>) -> tensor<1xui32>
    %v31 = stablehlo.xor %v30, %v7 : tensor<1xui32>
    %v32 = stablehlo.xor %v31, %v2 : tensor<1xui32>
    %v33 = stablehlo.xor %v24, %v13 : tensor<1xui32>
    %v34 = stablehlo.xor %v33, %v5 : tensor<1xui32>
    %v35 = stablehlo.add %v2, %v16 : tensor<1xui32>
    %v36 = stablehlo.add %v5, %v17 : tensor<1xui32>
    %v37 = stablehlo.convert %v32 : (tensor<1xui32>) -> tensor<1xui64>
    %v38 = stablehlo.multiply %v37, %v19 : tensor<1xui64>
    %v39 = stablehlo.multiply %v32, %v14 : tensor<1xui32>
    %v40 = stablehlo.shift_right_logical %v38, %v22 : tensor<1xui64>
    %v41 = stablehlo.convert %v40 : (tensor<1xui64>) -> tensor<1xui32>
    %v42 = stablehlo.convert %v34 : (tensor<1xui32>) -> tensor<1xui64>
    %v43 = stablehlo.multiply %v42, %v26 : tensor<1xui64>
    %v44 = stablehlo.multiply %v34, %v15 : tensor<1xui32>
    %v45 = stablehlo.shift_right_logical %v43, %v22 : tensor<1xui64>
    %v46 = stablehlo.convert %v45 : (tensor<1xui64>) -> tensor<1xui32>
    %v47 = stablehlo.xor %v46, %v28 : tensor<1xui32>
    %v48 = stablehlo.xor %v47, %v35 : tensor<1xui32>
    %v49 = stablehlo.xor %v41, %v21 : tensor<1xui32>
    %v50 = stablehlo.xor %v49, %v36 : tensor<1xui32>
    %v51 = stablehlo.add %v35, %v16 : tensor<1xui32>
    %v52 = stablehlo.add %v36, %v17 : tensor<1xui32>
    %v53 = stablehlo.convert %v48 : (tensor<1xui32>) -> tensor<1xui64>
    %v54 = stablehlo.multiply %v53, %v19 : tensor<1xui64>
    %v55 = stablehlo.multiply %v48, %v14 : tensor<1xui32>
    %v56 = stablehlo.shift_right_logical %v54, %v22 : tensor<1xui64>
    %v57 = stablehlo.convert %v56 : (tensor<1xui64>) -> tensor<1xui32>
    %v58 = stablehlo.convert %v50 : (tensor<1xui32>) -> tensor<1xui64>
    %v59 = stablehlo.multiply %v58, %v26 : tensor<1xui64>
    %v60 = stablehlo.multiply %v50, %v15 : tensor<1xui32>
    %v61 = stablehlo.shift_right_logical %v59, %v22 : tensor<1xui64>
    %v62 = stablehlo.convert %v61 : (tensor<1xui64>) -> tensor<1xui32>
    %v63 = stablehlo.xor %v62, %v44 : tensor<1xui32>
    %v64 = stablehlo.xor %v63, %v51 : tensor<1xui32>
    %v65 = stablehlo.xor %v57, %v39 : tensor<1xui32>
    %v66 = stablehlo.xor %v65, %v52 : tensor<1xui32>
    %v67 = stablehlo.add %v51, %v16 : tensor<1xui32>
    %v68 = stablehlo.add %v52, %v17 : tensor<1xui32>
    %v69 = stablehlo.convert %v64 : (tensor<1xui32>) -> tensor<1xui64>
    %v70 = stablehlo.multiply %v69, %v19 : tensor<1xui64>
    %v71 = stablehlo.multiply %v64, %v14 : tensor<1xui32>
    %v72 = stablehlo.shift_right_logical %v70, %v22 : tensor<1xui64>
    %v73 = stablehlo.convert %v72 : (tensor<1xui64>) -> tensor<1xui32>
    %v74 = stablehlo.convert %v66 : (tensor<1xui32>) -> tensor<1xui64>
    %v75 = stablehlo.multiply %v74, %v26 : tensor<1xui64>
    %v76 = stablehlo.multiply %v66, %v15 : tensor<1xui32>
    %v77 = stablehlo.shift_right_logical %v75, %v22 : tensor<1xui64>
    %v78 = stablehlo.convert %v77 : (tensor<1xui64>) -> tensor<1xui32>
    %v79 = stablehlo.xor %v78, %v60 : tensor<1xui32>
    %v80 = stablehlo.xor %v79, %v67 : tensor<1xui32>
    %v81 = stablehlo.xor %v73, %v55 : tensor<1xui32>
    %v82 = stablehlo.xor %v81, %v68 : tensor<1xui32>
    %v83 = stablehlo.add %v67, %v16 : tensor<1xui32>
    %v84 = stablehlo.add %v68, %v17 : tensor<1xui32>
    %v85 = stablehlo.convert %v80 : (tensor<1xui32>) -> tensor<1xui64>
    %v86 = stablehlo.multiply %v85, %v19 : tensor<1xui64>
    %v87 = stablehlo.multiply %v80, %v14 : tensor<1xui32>
    %v88 = stablehlo.shift_right_logical %v86, %v22 : tensor<1xui64>
    %v89 = stablehlo.convert %v88 : (tensor<1xui64>) -> tensor<1xui32>
    %v90 = stablehlo.convert %v82 : (tensor<1xui32>) -> tensor<1xui64>
    %v91 = stablehlo.multiply %v90, %v26 : tensor<1xui64>
    %v92 = stablehlo.multiply %v82, %v15 : tensor<1xui32>
    %v93 = stablehlo.shift_right_logical %v91, %v22 : tensor<1xui64>
    %v94 = stablehlo.convert %v93 : (tensor<1xui64>) -> tensor<1xui32>
    %v95 = stablehlo.xor %v94, %v76 : tensor<1xui32>
    %v96 = stablehlo.xor %v95, %v83 : tensor<1xui32>
    %v97 = stablehlo.xor %v89, %v71 : tensor<1xui32>
    %v98 = stablehlo.xor %v97, %v84 : tensor<1xui32>
    %v99 = stablehlo.add %v83, %v16 : tensor<1xui32>
    %v100 = stablehlo.add %v84, %v17 : tensor<1xui32>
    %v101 = stablehlo.convert %v96 : (tensor<1xui32>) -> tensor<1xui64>
    %v102 = stablehlo.multiply %v101, %v19 : tensor<1xui64>
    %v103 = stablehlo.multiply %v96, %v14 : tensor<1xui32>
    %v104 = stablehlo.shift_right_logical %v102, %v22 : tensor<1xui64>
    %v105 = stablehlo.convert %v104 : (tensor<1xui64>) -> tensor<1xui32>
    %v106 = stablehlo.convert %v98 : (tensor<1xui32>) -> tensor<1xui64>
    %v107 = stablehlo.multiply %v106, %v26 : tensor<1xui64>
    %v108 = stablehlo.multiply %v98, %v15 : tensor<1xui32>
    %v109 = stablehlo.shift_right_logical %v107, %v22 : tensor<1xui64>
    %v110 = stablehlo.convert %v109 : (tensor<1xui64>) -> tensor<1xui32>
    %v111 = stablehlo.xor %v110, %v92 : tensor<1xui32>
    %v112 = stablehlo.xor %v111, %v99 : tensor<1xui32>
    %v113 = stablehlo.xor %v105, %v87 : tensor<1xui32>
    %v114 = stablehlo.xor %v113, %v100 : tensor<1xui32>
    %v115 = stablehlo.add %v99, %v16 : tensor<1xui32>
    %v116 = stablehlo.add %v100, %v17 : tensor<1xui32>
    %v117 = stablehlo.convert %v112 : (tensor<1xui32>) -> tensor<1xui64>
    %v118 = stablehlo.multiply %v117, %v19 : tensor<1xui64>
    %v119 = stablehlo.multiply %v112, %v14 : tensor<1xui32>
    %v120 = stablehlo.shift_right_logical %v118, %v22 : tensor<1xui64>
    %v121 = stablehlo.convert %v120 : (tensor<1xui64>) -> tensor<1xui32>
    %v122 = stablehlo.convert %v114 : (tensor<1xui32>) -> tensor<1xui64>
    %v123 = stablehlo.multiply %v122, %v26 : tensor<1xui64>
    %v124 = stablehlo.multiply %v114, %v15 : tensor<1xui32>
    %v125 = stablehlo.shift_right_logical %v123, %v22 : tensor<1xui64>
    %v126 = stablehlo.convert %v125 : (tensor<1xui64>) -> tensor<1xui32>
    %v127 = stablehlo.xor %v126, %v108 : tensor<1xui32>
    %v128 = stablehlo.xor %v127, %v115 : tensor<1xui32>
    %v129 = stablehlo.xor %v121, %v103 : tensor<1xui32>
    %v130 = stablehlo.xor %v129, %v116 : tensor<1xui32>
    %v131 = stablehlo.add %v115, %v16 : tensor<1xui32>
    %v132 = stablehlo.add %v116, %v17 : tensor<1xui32>
    %v133 = stablehlo.convert %v128 : (tensor<1xui32>) -> tensor<1xui64>
    %v134 = stablehlo.multiply %v133, %v19 : tensor<1xui64>
    %v135 = stablehlo.multiply %v128, %v14 : tensor<1xui32>
    %v136 = stablehlo.shift_right_logical %v134, %v22 : tensor<1xui64>
    %v137 = stablehlo.convert %v136 : (tensor<1xui64>) -> tensor<1xui32>
    %v138 = stablehlo.convert %v130 : (tensor<1xui32>) -> tensor<1xui64>
    %v139 = stablehlo.multiply %v138, %v26 : tensor<1xui64>
    %v140 = stablehlo.multiply %v130, %v15 : tensor<1xui32>
    %v141 = stablehlo.shift_right_logical %v139, %v22 : tensor<1xui64>
    %v142 = stablehlo.convert %v141 : (tensor<1xui64>) -> tensor<1xui32>
    %v143 = stablehlo.xor %v142, %v124 : tensor<1xui32>
    %v144 = stablehlo.xor %v143, %v131 : tensor<1xui32>
    %v145 = stablehlo.xor %v137, %v119 : tensor<1xui32>
    %v146 = stablehlo.xor %v145, %v132 : tensor<1xui32>
    %v147 = stablehlo.add %v131, %v16 : tensor<1xui32>
    %v148 = stablehlo.add %v132, %v17 : tensor<1xui32>
    %v149 = stablehlo.convert %v144 : (tensor<1xui32>) -> tensor<1xui64>
    %v150 = stablehlo.multiply %v149, %v19 : tensor<1xui64>
    %v151 = stablehlo.multiply %v144, %v14 : tensor<1xui32>
    %v152 = stablehlo.shift_right_logical %v150, %v22 : tensor<1xui64>
    %v153 = stablehlo.convert %v152 : (tensor<1xui64>) -> tensor<1xui32>
    %v154 = stablehlo.convert %v146 : (tensor<1xui32>) -> tensor<1xui64>
    %v155 = stablehlo.multiply %v154, %v26 : tensor<1xui64>
    %v156 = stablehlo.multiply %v146, %v15 : tensor<1xui32>
    %v157 = stablehlo.shift_right_logical %v155, %v22 : tensor<1xui64>
    %v158 = stablehlo.convert %v157 : (tensor<1xui64>) -> tensor<1xui32>
    %v159 = stablehlo.xor %v158, %v140 : tensor<1xui32>
    %v160 = stablehlo.xor %v159, %v147 : tensor<1xui32>
    %v161 = stablehlo.xor %v153, %v135 : tensor<1xui32>
    %v162 = stablehlo.xor %v161, %v148 : tensor<1xui32>
    %v163 = stablehlo.add %v147, %v16 : tensor<1xui32>
    %v164 = stablehlo.add %v148, %v17 : tensor<1xui32>
    %v165 = stablehlo.convert %v160 : (tensor<1xui32>) -> tensor<1xui64>
    %v166 = stablehlo.multiply %v165, %v19 : tensor<1xui64>
    %v167 = stablehlo.multiply %v160, %v14 : tensor<1xui32>
    %v168 = stablehlo.shift_right_logical %v166, %v22 : tensor<1xui64>
    %v169 = stablehlo.convert %v168 : (tensor<1xui64>) -> tensor<1xui32>
    %v170 = stablehlo.convert %v162 : (tensor<1xui32>) -> tensor<1xui64>
    %v171 = stablehlo.multiply %v170, %v26 : tensor<1xui64>
    %v172 = stablehlo.multiply %v162, %v15 : tensor<1xui32>
    %v173 = stablehlo.shift_right_logical %v171, %v22 : tensor<1xui64>
    %v174 = stablehlo.convert %v173 : (tensor<1xui64>) -> tensor<1xui32>
    %v175 = stablehlo.xor %v174, %v156 : tensor<1xui32>
    %v176 = stablehlo.xor %v175, %v163 : tensor<1xui32>
    %v177 = stablehlo.xor %v169, %v151 : tensor<1xui32>
    %v178 = stablehlo.xor %v177, %v164 : tensor<1xui32>
    %v179 = stablehlo.add %v163, %v16 : tensor<1xui32>
    %v180 = stablehlo.add %v164, %v17 : tensor<1xui32>
    %v181 = stablehlo.reshape %v176 : (tensor<1xui32>) -> tensor<1x1xui32>
    %v182 = stablehlo.reshape %v172 : (tensor<1xui32>) -> tensor<1x1xui32>
    %v183 = stablehlo.reshape %v178 : (tensor<1xui32>) -> tensor<1x1xui32>
    %v184 = stablehlo.reshape %v167 : (tensor<1xui32>) -> tensor<1x1xui32>
    %v185 = stablehlo.concatenate %v181, %v182, %v183, %v184, dim = 1 : (tensor<1x1xui32>, tensor<1x1xui32>, tensor<1x1xui32>, tensor<1x1xui32>) -> tensor<1x4xui32>
    %v186 = stablehlo.reshape %v185 : (tensor<1x4xui32>) -> tensor<4xui32>
    return %v186 : tensor<4xui32>
  }
}
#loc0 = loc("layer")

// neg/float16[7]
module @neg_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.negate %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// abs/float16[7]
module @abs_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.abs %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// sign/float16[7]
module @sign_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.sign %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// relu/float16[7]
module @relu_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x0000"> : tensor<7xf16> loc(#loc0)
    %v1 = stablehlo.maximum %arg0, %v0 : tensor<7xf16> loc(#loc0)
    return %v1, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// floor/float16[7]
module @floor_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.floor %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// ceil/float16[7]
module @ceil_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.ceil %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// round/float16[7]
module @round_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.round_nearest_even %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// exp/float16[7]
module @exp_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.exponential %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// expm1/float16[7]
module @expm1_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.exponential_minus_one %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// log/float16[7]
module @log_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.log %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// log1p/float16[7]
module @log1p_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.log_plus_one %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// sqrt/float16[7]
module @sqrt_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.sqrt %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// rsqrt/float16[7]
module @rsqrt_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.rsqrt %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// sin/float16[7]
module @sin_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.sine %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// cos/float16[7]
module @cos_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.cosine %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// tan/float16[7]
module @tan_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.tan %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// asin/float16[7]
module @asin_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = chlo.asin %arg0 : tensor<7xf16> -> tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// acos/float16[7]
module @acos_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = chlo.acos %arg0 : tensor<7xf16> -> tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// atan/float16[7]
module @atan_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x003C"> : tensor<7xf16> loc(#loc0)
    %v1 = stablehlo.optimization_barrier %v0 : tensor<7xf16> loc(#loc0)
    %v2 = stablehlo.atan2 %arg0, %v1 : tensor<7xf16> loc(#loc0)
    return %v2, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// sinh/float16[7]
module @sinh_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = chlo.sinh %arg0 : tensor<7xf16> -> tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// cosh/float16[7]
module @cosh_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = chlo.cosh %arg0 : tensor<7xf16> -> tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// asinh/float16[7]
module @asinh_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = chlo.asinh %arg0 : tensor<7xf16> -> tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// acosh/float16[7]
module @acosh_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = chlo.acosh %arg0 : tensor<7xf16> -> tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// atanh/float16[7]
module @atanh_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.log_plus_one %arg0 : tensor<7xf16> loc(#loc0)
    %v1 = stablehlo.negate %arg0 : tensor<7xf16> loc(#loc0)
    %v2 = stablehlo.log_plus_one %v1 : tensor<7xf16> loc(#loc0)
    %v3 = stablehlo.subtract %v0, %v2 : tensor<7xf16> loc(#loc0)
    %v4 = stablehlo.constant dense<"0x0038"> : tensor<7xf16> loc(#loc0)
    %v5 = stablehlo.multiply %v3, %v4 : tensor<7xf16> loc(#loc0)
    return %v5, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// tanh/float16[7]
module @tanh_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.tanh %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// sigmoid/float16[7]
module @sigmoid_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.logistic %arg0 : tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// erf/float16[7]
module @erf_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = chlo.erf %arg0 : tensor<7xf16> -> tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// erf_inv/float16[7]
module @erf_inv_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = chlo.erf_inv %arg0 : tensor<7xf16> -> tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// lgamma/float16[7]
module @lgamma_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = chlo.lgamma %arg0 : tensor<7xf16> -> tensor<7xf16> loc(#loc0)
    return %v0, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// add/float16[7]
module @add_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.add %arg0, %arg1 : tensor<7xf16> loc(#loc0)
    return %v0, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// sub/float16[7]
module @sub_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.subtract %arg0, %arg1 : tensor<7xf16> loc(#loc0)
    return %v0, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// mul/float16[7]
module @mul_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.multiply %arg0, %arg1 : tensor<7xf16> loc(#loc0)
    return %v0, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// div/float16[7]
module @div_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.divide %arg0, %arg1 : tensor<7xf16> loc(#loc0)
    return %v0, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// pow/float16[7]
module @pow_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.power %arg0, %arg1 : tensor<7xf16> loc(#loc0)
    return %v0, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// max/float16[7]
module @max_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.maximum %arg0, %arg1 : tensor<7xf16> loc(#loc0)
    return %v0, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// min/float16[7]
module @min_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.minimum %arg0, %arg1 : tensor<7xf16> loc(#loc0)
    return %v0, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// rem/float16[7]
module @rem_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.remainder %arg0, %arg1 : tensor<7xf16> loc(#loc0)
    return %v0, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// atan2/float16[7]
module @atan2_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.atan2 %arg0, %arg1 : tensor<7xf16> loc(#loc0)
    return %v0, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// not/bool[67]
module @not_bool_67_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<67xi1>, %arg1: tensor<3xi32>) -> (tensor<67xi1>, tensor<3xi32>) {
    %v0 = stablehlo.not %arg0 : tensor<67xi1> loc(#loc0)
    return %v0, %arg1 : tensor<67xi1>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// and/bool[67]
module @and_bool_67_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<67xi1>, %arg1: tensor<67xi1>, %arg2: tensor<3xi32>) -> (tensor<67xi1>, tensor<3xi32>) {
    %v0 = stablehlo.and %arg0, %arg1 : tensor<67xi1> loc(#loc0)
    return %v0, %arg2 : tensor<67xi1>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// or/bool[67]
module @or_bool_67_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<67xi1>, %arg1: tensor<67xi1>, %arg2: tensor<3xi32>) -> (tensor<67xi1>, tensor<3xi32>) {
    %v0 = stablehlo.or %arg0, %arg1 : tensor<67xi1> loc(#loc0)
    return %v0, %arg2 : tensor<67xi1>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// xor/bool[67]
module @xor_bool_67_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<67xi1>, %arg1: tensor<67xi1>, %arg2: tensor<3xi32>) -> (tensor<67xi1>, tensor<3xi32>) {
    %v0 = stablehlo.xor %arg0, %arg1 : tensor<67xi1> loc(#loc0)
    return %v0, %arg2 : tensor<67xi1>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// shift_left/int8[67]
module @shift_left_int8_67_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<67xi8>, %arg1: tensor<67xi8>, %arg2: tensor<3xi32>) -> (tensor<67xi8>, tensor<3xi32>) {
    %v0 = stablehlo.shift_left %arg0, %arg1 : tensor<67xi8> loc(#loc0)
    return %v0, %arg2 : tensor<67xi8>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// shift_right/int8[67]
module @shift_right_int8_67_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<67xi8>, %arg1: tensor<67xi8>, %arg2: tensor<3xi32>) -> (tensor<67xi8>, tensor<3xi32>) {
    %v0 = stablehlo.shift_right_arithmetic %arg0, %arg1 : tensor<67xi8> loc(#loc0)
    return %v0, %arg2 : tensor<67xi8>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// is_finite/float16
module @is_finite_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7x19xf16>, %arg1: tensor<3xi32>) -> (tensor<7x19xi1>, tensor<3xi32>) {
    %v0 = stablehlo.is_finite %arg0 : (tensor<7x19xf16>) -> tensor<7x19xi1> loc(#loc0)
    return %v0, %arg1 : tensor<7x19xi1>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// check_finite/float16[67]
module @check_finite_float16_67_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<67xf16>, %arg1: tensor<3xi32>) -> (tensor<67xf16>, tensor<3xi32>) {
    %v0 = stablehlo.is_finite %arg0 : (tensor<67xf16>) -> tensor<67xi1> loc(#loc0)
    %v1 = stablehlo.iota dim = 0 : tensor<67xi32> loc(#loc0)
    %v2 = stablehlo.convert %v1 : (tensor<67xi32>) -> tensor<67xi64>
    %v3 = stablehlo.iota dim = 0 : tensor<67xi64>
    %v4 = stablehlo.constant dense<"0x0000000001000000"> : tensor<67xi64>
    %v5 = stablehlo.multiply %v3, %v4 : tensor<67xi64>
    %v6 = stablehlo.constant dense<"0x0000008000000000"> : tensor<67xi64>
    %v7 = stablehlo.add %v5, %v6 : tensor<67xi64>
    %v8 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<67xi64>
    %v9 = stablehlo.add %v7, %v2 : tensor<67xi64>
    %v10 = stablehlo.select %v0, %v8, %v9 : tensor<67xi1>, tensor<67xi64>
    %v11 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v15 = "stablehlo.reduce"(%v10, %v11) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v12: tensor<i64>, %v13: tensor<i64>):
      %v14 = stablehlo.minimum %v12, %v13 : tensor<i64>
      stablehlo.return %v14 : tensor<i64>
    }) : (tensor<67xi64>, tensor<i64>) -> (tensor<i64>)
    %v16 = stablehlo.compare NE, %v15, %v11, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v17 = stablehlo.constant dense<"0x2700000000000000"> : tensor<i64>
    %v18 = stablehlo.shift_right_logical %v15, %v17 : tensor<i64>
    %v19 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v20 = stablehlo.add %v18, %v19 : tensor<i64>
    %v21 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v22 = stablehlo.and %v15, %v21 : tensor<i64>
    %v23 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v24 = stablehlo.subtract %v22, %v23 : tensor<i64>
    %v25 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v26 = stablehlo.convert %v20 : (tensor<i64>) -> tensor<i32>
    %v27 = stablehlo.reshape %v26 : (tensor<i32>) -> tensor<1xi32>
    %v28 = stablehlo.convert %v24 : (tensor<i64>) -> tensor<i32>
    %v29 = stablehlo.reshape %v28 : (tensor<i32>) -> tensor<1xi32>
    %v30 = stablehlo.concatenate %v25, %v27, %v29, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v31 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v32 = stablehlo.reshape %v31 : (tensor<1xi32>) -> tensor<i32>
    %v33 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v34 = stablehlo.compare NE, %v32, %v33, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v35 = stablehlo.not %v34 : tensor<i1>
    %v36 = stablehlo.and %v16, %v35 : tensor<i1>
    %v37 = stablehlo.broadcast_in_dim %v36, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v38 = stablehlo.select %v37, %v30, %arg1 : tensor<3xi1>, tensor<3xi32>
    return %arg0, %v38 : tensor<67xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// compare/eq float16
module @compare_eq_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<241xf16>, %arg1: tensor<241xf16>, %arg2: tensor<3xi32>) -> (tensor<241xi1>, tensor<3xi32>) {
    %v0 = stablehlo.compare EQ, %arg0, %arg1, FLOAT : (tensor<241xf16>, tensor<241xf16>) -> tensor<241xi1> loc(#loc0)
    return %v0, %arg2 : tensor<241xi1>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// select/float16[67]
module @select_float16_67_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<67xi1>, %arg1: tensor<67xf16>, %arg2: tensor<67xf16>, %arg3: tensor<3xi32>) -> (tensor<67xf16>, tensor<3xi32>) {
    %v0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<67xi1>, tensor<67xf16> loc(#loc0)
    return %v0, %arg3 : tensor<67xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// identity/float16[67]
module @identity_float16_67_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<67xf16>, %arg1: tensor<3xi32>) -> (tensor<67xf16>, tensor<3xi32>) {
    return %arg0, %arg1 : tensor<67xf16>, tensor<3xi32>
  }
}

// barrier/float16[67]
module @barrier_float16_67_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<67xf16>, %arg1: tensor<3xf32>, %arg2: tensor<3xi32>) -> (tensor<67xf16>, tensor<3xi32>) {
    %v0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<67xf16>, tensor<3xf32> loc(#loc0)
    return %v0#0, %arg2 : tensor<67xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// convert/float16 to float16
module @convert_float16_to_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<11x13xf16>, %arg1: tensor<3xi32>) -> (tensor<11x13xf16>, tensor<3xi32>) {
    return %arg0, %arg1 : tensor<11x13xf16>, tensor<3xi32>
  }
}

// reshape/float16
module @reshape_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x5xf16>, %arg1: tensor<3xi32>) -> (tensor<5x6xf16>, tensor<3xi32>) {
    %v0 = stablehlo.reshape %arg0 : (tensor<2x3x5xf16>) -> tensor<5x6xf16> loc(#loc0)
    return %v0, %arg1 : tensor<5x6xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// transpose/float16
module @transpose_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x5xf16>, %arg1: tensor<3xi32>) -> (tensor<5x2x3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.transpose %arg0, dims = [2, 0, 1] : (tensor<2x3x5xf16>) -> tensor<5x2x3xf16> loc(#loc0)
    return %v0, %arg1 : tensor<5x2x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// broadcast/float16
module @broadcast_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x1xf16>, %arg1: tensor<3xi32>) -> (tensor<4x2x3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<2x1xf16>) -> tensor<4x2x3xf16> loc(#loc0)
    return %v0, %arg1 : tensor<4x2x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// slice/float16
module @slice_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<5x7xf16>, %arg1: tensor<3xi32>) -> (tensor<3x4xf16>, tensor<3xi32>) {
    %v0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 7>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 2>}> : (tensor<5x7xf16>) -> (tensor<3x4xf16>) loc(#loc0)
    return %v0, %arg1 : tensor<3x4xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// concat/float16
module @concat_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf16>, %arg1: tensor<2x1xf16>, %arg2: tensor<2x4xf16>, %arg3: tensor<3xi32>) -> (tensor<2x8xf16>, tensor<3xi32>) {
    %v0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 1 : (tensor<2x3xf16>, tensor<2x1xf16>, tensor<2x4xf16>) -> tensor<2x8xf16> loc(#loc0)
    return %v0, %arg3 : tensor<2x8xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// reverse/float16
module @reverse_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x5xf16>, %arg1: tensor<3xi32>) -> (tensor<2x3x5xf16>, tensor<3xi32>) {
    %v0 = stablehlo.reverse %arg0, dims = [0, 2] : tensor<2x3x5xf16> loc(#loc0)
    return %v0, %arg1 : tensor<2x3x5xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// bit_cast/float16 to float16
module @bit_cast_float16_to_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<3x16xf16>, %arg1: tensor<3xi32>) -> (tensor<3x16xf16>, tensor<3xi32>) {
    %v0 = stablehlo.bitcast_convert %arg0 : (tensor<3x16xf16>) -> tensor<3x16xf16> loc(#loc0)
    return %v0, %arg1 : tensor<3x16xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// dot/float16 [2 3 5]
module @dot_float16__2_3_5_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf16>, %arg1: tensor<3x5xf16>, %arg2: tensor<3xi32>) -> (tensor<2x5xf16>, tensor<3xi32>) {
    %v0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf16>, tensor<3x5xf16>) -> tensor<2x5xf32> loc(#loc0)
    %v1 = stablehlo.convert %v0 : (tensor<2x5xf32>) -> tensor<2x5xf16> loc(#loc0)
    return %v1, %arg2 : tensor<2x5xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// gather/float16
module @gather_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<3x5x2xf16>, %arg1: tensor<4xi32>, %arg2: tensor<3xi32>) -> (tensor<3x4x2xf16>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x05000000"> : tensor<4xi32> loc(#loc0)
    %v1 = stablehlo.compare LT, %arg1, %v0, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x00000000"> : tensor<4xi32> loc(#loc0)
    %v3 = stablehlo.compare GE, %arg1, %v2, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc0)
    %v4 = stablehlo.and %v1, %v3 : tensor<4xi1> loc(#loc0)
    %v5 = stablehlo.maximum %arg1, %v2 : tensor<4xi32> loc(#loc0)
    %v6 = stablehlo.constant dense<"0x04000000"> : tensor<4xi32> loc(#loc0)
    %v7 = stablehlo.minimum %v5, %v6 : tensor<4xi32> loc(#loc0)
    %v8 = "stablehlo.gather"(%arg0, %v7) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1, 2>}> : (tensor<3x5x2xf16>, tensor<4xi32>) -> (tensor<3x4x2xf16>) loc(#loc0)
    %v9 = stablehlo.convert %arg1 : (tensor<4xi32>) -> tensor<4xi64>
    %v10 = stablehlo.iota dim = 0 : tensor<4xi64>
    %v11 = stablehlo.constant dense<"0x0000000001000000"> : tensor<4xi64>
    %v12 = stablehlo.multiply %v10, %v11 : tensor<4xi64>
    %v13 = stablehlo.constant dense<"0x0000008000000000"> : tensor<4xi64>
    %v14 = stablehlo.add %v12, %v13 : tensor<4xi64>
    %v15 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<4xi64>
    %v16 = stablehlo.add %v14, %v9 : tensor<4xi64>
    %v17 = stablehlo.select %v4, %v15, %v16 : tensor<4xi1>, tensor<4xi64>
    %v18 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v22 = "stablehlo.reduce"(%v17, %v18) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v19: tensor<i64>, %v20: tensor<i64>):
      %v21 = stablehlo.minimum %v19, %v20 : tensor<i64>
      stablehlo.return %v21 : tensor<i64>
    }) : (tensor<4xi64>, tensor<i64>) -> (tensor<i64>)
    %v23 = stablehlo.compare NE, %v22, %v18, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v24 = stablehlo.constant dense<"0x2200000000000000"> : tensor<i64>
    %v25 = stablehlo.shift_right_logical %v22, %v24 : tensor<i64>
    %v26 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v27 = stablehlo.add %v25, %v26 : tensor<i64>
    %v28 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v29 = stablehlo.and %v22, %v28 : tensor<i64>
    %v30 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v31 = stablehlo.subtract %v29, %v30 : tensor<i64>
    %v32 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v33 = stablehlo.convert %v27 : (tensor<i64>) -> tensor<i32>
    %v34 = stablehlo.reshape %v33 : (tensor<i32>) -> tensor<1xi32>
    %v35 = stablehlo.convert %v31 : (tensor<i64>) -> tensor<i32>
    %v36 = stablehlo.reshape %v35 : (tensor<i32>) -> tensor<1xi32>
    %v37 = stablehlo.concatenate %v32, %v34, %v36, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v38 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v39 = stablehlo.reshape %v38 : (tensor<1xi32>) -> tensor<i32>
    %v40 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v41 = stablehlo.compare NE, %v39, %v40, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v42 = stablehlo.not %v41 : tensor<i1>
    %v43 = stablehlo.and %v23, %v42 : tensor<i1>
    %v44 = stablehlo.broadcast_in_dim %v43, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v45 = stablehlo.select %v44, %v37, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %v8, %v45 : tensor<3x4x2xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// scatter/float16 set
module @scatter_float16_set attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<3x5x2xf16>, %arg1: tensor<4xi32>, %arg2: tensor<3x4x2xf16>, %arg3: tensor<3xi32>) -> (tensor<3x5x2xf16>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x05000000"> : tensor<4xi32> loc(#loc0)
    %v1 = stablehlo.compare LT, %arg1, %v0, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x00000000"> : tensor<4xi32> loc(#loc0)
    %v3 = stablehlo.compare GE, %arg1, %v2, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc0)
    %v4 = stablehlo.and %v1, %v3 : tensor<4xi1> loc(#loc0)
    %v5 = stablehlo.maximum %arg1, %v2 : tensor<4xi32> loc(#loc0)
    %v6 = stablehlo.constant dense<"0x04000000"> : tensor<4xi32> loc(#loc0)
    %v7 = stablehlo.minimum %v5, %v6 : tensor<4xi32> loc(#loc0)
    %v8 = stablehlo.select %v4, %v7, %v0 : tensor<4xi1>, tensor<4xi32> loc(#loc0)
    %v9 = stablehlo.iota dim = 0 : tensor<4xi32> loc(#loc0)
    %v10 = stablehlo.constant dense<"0xFFFFFFFF"> : tensor<5xi32> loc(#loc0)
    %v14 = "stablehlo.scatter"(%v10, %v8, %v9) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%v11: tensor<i32>, %v12: tensor<i32>):
      %v13 = stablehlo.maximum %v11, %v12 : tensor<i32> loc(#loc0)
      stablehlo.return %v13 : tensor<i32>
    }) : (tensor<5xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<5xi32>) loc(#loc0)
    %v15 = stablehlo.constant dense<"0x00000000"> : tensor<5xi32> loc(#loc0)
    %v16 = stablehlo.maximum %v14, %v15 : tensor<5xi32> loc(#loc0)
    %v17 = "stablehlo.gather"(%arg2, %v16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1, 2>}> : (tensor<3x4x2xf16>, tensor<5xi32>) -> (tensor<3x5x2xf16>) loc(#loc0)
    %v18 = stablehlo.compare GE, %v14, %v15, SIGNED : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1> loc(#loc0)
    %v19 = stablehlo.broadcast_in_dim %v18, dims = [1] : (tensor<5xi1>) -> tensor<3x5x2xi1> loc(#loc0)
    %v20 = stablehlo.select %v19, %v17, %arg0 : tensor<3x5x2xi1>, tensor<3x5x2xf16> loc(#loc0)
    %v21 = stablehlo.convert %arg1 : (tensor<4xi32>) -> tensor<4xi64>
    %v22 = stablehlo.iota dim = 0 : tensor<4xi64>
    %v23 = stablehlo.constant dense<"0x0000000001000000"> : tensor<4xi64>
    %v24 = stablehlo.multiply %v22, %v23 : tensor<4xi64>
    %v25 = stablehlo.constant dense<"0x0000008000000000"> : tensor<4xi64>
    %v26 = stablehlo.add %v24, %v25 : tensor<4xi64>
    %v27 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<4xi64>
    %v28 = stablehlo.add %v26, %v21 : tensor<4xi64>
    %v29 = stablehlo.select %v4, %v27, %v28 : tensor<4xi1>, tensor<4xi64>
    %v30 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v34 = "stablehlo.reduce"(%v29, %v30) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v31: tensor<i64>, %v32: tensor<i64>):
      %v33 = stablehlo.minimum %v31, %v32 : tensor<i64>
      stablehlo.return %v33 : tensor<i64>
    }) : (tensor<4xi64>, tensor<i64>) -> (tensor<i64>)
    %v35 = stablehlo.compare NE, %v34, %v30, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v36 = stablehlo.constant dense<"0x2200000000000000"> : tensor<i64>
    %v37 = stablehlo.shift_right_logical %v34, %v36 : tensor<i64>
    %v38 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v39 = stablehlo.add %v37, %v38 : tensor<i64>
    %v40 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v41 = stablehlo.and %v34, %v40 : tensor<i64>
    %v42 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v43 = stablehlo.subtract %v41, %v42 : tensor<i64>
    %v44 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v45 = stablehlo.convert %v39 : (tensor<i64>) -> tensor<i32>
    %v46 = stablehlo.reshape %v45 : (tensor<i32>) -> tensor<1xi32>
    %v47 = stablehlo.convert %v43 : (tensor<i64>) -> tensor<i32>
    %v48 = stablehlo.reshape %v47 : (tensor<i32>) -> tensor<1xi32>
    %v49 = stablehlo.concatenate %v44, %v46, %v48, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v50 = "stablehlo.slice"(%arg3) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v51 = stablehlo.reshape %v50 : (tensor<1xi32>) -> tensor<i32>
    %v52 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v53 = stablehlo.compare NE, %v51, %v52, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v54 = stablehlo.not %v53 : tensor<i1>
    %v55 = stablehlo.and %v35, %v54 : tensor<i1>
    %v56 = stablehlo.broadcast_in_dim %v55, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v57 = stablehlo.select %v56, %v49, %arg3 : tensor<3xi1>, tensor<3xi32>
    return %v20, %v57 : tensor<3x5x2xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// reduce/sum float16
module @reduce_sum_float16 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4x5xf16>, %arg1: tensor<3xi32>) -> (tensor<4xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<3x4x5xf16>) -> tensor<3x4x5xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v5 = "stablehlo.reduce"(%v0, %v1) <{dimensions = array<i64: 0, 2>}> ({
    ^bb0(%v2: tensor<f32>, %v3: tensor<f32>):
      %v4 = stablehlo.add %v2, %v3 : tensor<f32> loc(#loc0)
      stablehlo.return %v4 : tensor<f32>
    }) : (tensor<3x4x5xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v6 = stablehlo.convert %v5 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    return %v6, %arg1 : tensor<4xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// cumulative/float16 {sum 1 false false}
module @cumulative_float16__sum_1_false_false_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x7xf16>, %arg1: tensor<3xi32>) -> (tensor<4x7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x7xf16>) -> tensor<4x7xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v5 = "stablehlo.reduce_window"(%v0, %v1) <{padding = dense<[[0, 0], [6, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 7>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%v2: tensor<f32>, %v3: tensor<f32>):
      %v4 = stablehlo.add %v2, %v3 : tensor<f32> loc(#loc0)
      stablehlo.return %v4 : tensor<f32>
    }) : (tensor<4x7xf32>, tensor<f32>) -> (tensor<4x7xf32>) loc(#loc0)
    %v6 = stablehlo.convert %v5 : (tensor<4x7xf32>) -> tensor<4x7xf16> loc(#loc0)
    return %v6, %arg1 : tensor<4x7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// sort/float16[50] axis 0 descending false
module @sort_float16_50__axis_0_descending_false attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<50xf16>, %arg1: tensor<3xi32>) -> (tensor<50xf16>, tensor<50xi32>, tensor<3xi32>) {
    %v0 = stablehlo.iota dim = 0 : tensor<50xi32> loc(#loc0)
    %v11:2 = "stablehlo.sort"(%arg0, %v0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%v1: tensor<f16>, %v2: tensor<f16>, %v3: tensor<i32>, %v4: tensor<i32>):
      %v5 = stablehlo.compare LT, %v1, %v2, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v6 = stablehlo.compare NE, %v2, %v2, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v7 = stablehlo.compare NE, %v1, %v1, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v8 = stablehlo.not %v7 : tensor<i1> loc(#loc0)
      %v9 = stablehlo.and %v6, %v8 : tensor<i1> loc(#loc0)
      %v10 = stablehlo.or %v5, %v9 : tensor<i1> loc(#loc0)
      stablehlo.return %v10 : tensor<i1>
    }) : (tensor<50xf16>, tensor<50xi32>) -> (tensor<50xf16>, tensor<50xi32>) loc(#loc0)
    return %v11#0, %v11#1, %arg1 : tensor<50xf16>, tensor<50xi32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// argmax/float16[9 7] axis 0
module @argmax_float16_9_7__axis_0 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<9x7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xi32>, tensor<3xi32>) {
    %v0 = stablehlo.iota dim = 0 : tensor<9x7xi32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x00FC"> : tensor<f16> loc(#loc0)
    %v2 = stablehlo.constant dense<"0xFFFFFF7F"> : tensor<i32> loc(#loc0)
    %v21:2 = "stablehlo.reduce"(%arg0, %v0, %v1, %v2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v3: tensor<f16>, %v4: tensor<i32>, %v5: tensor<f16>, %v6: tensor<i32>):
      %v7 = stablehlo.compare GT, %v3, %v5, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v8 = stablehlo.compare EQ, %v3, %v5, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v9 = stablehlo.compare NE, %v3, %v3, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v10 = stablehlo.compare NE, %v5, %v5, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v11 = stablehlo.not %v10 : tensor<i1> loc(#loc0)
      %v12 = stablehlo.and %v9, %v11 : tensor<i1> loc(#loc0)
      %v13 = stablehlo.or %v7, %v12 : tensor<i1> loc(#loc0)
      %v14 = stablehlo.and %v9, %v10 : tensor<i1> loc(#loc0)
      %v15 = stablehlo.or %v8, %v14 : tensor<i1> loc(#loc0)
      %v16 = stablehlo.compare LT, %v4, %v6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> loc(#loc0)
      %v17 = stablehlo.and %v15, %v16 : tensor<i1> loc(#loc0)
      %v18 = stablehlo.or %v13, %v17 : tensor<i1> loc(#loc0)
      %v19 = stablehlo.select %v18, %v3, %v5 : tensor<i1>, tensor<f16> loc(#loc0)
      %v20 = stablehlo.select %v18, %v4, %v6 : tensor<i1>, tensor<i32> loc(#loc0)
      stablehlo.return %v19, %v20 : tensor<f16>, tensor<i32>
    }) : (tensor<9x7xf16>, tensor<9x7xi32>, tensor<f16>, tensor<i32>) -> (tensor<7xf16>, tensor<7xi32>) loc(#loc0)
    return %v21#1, %arg1 : tensor<7xi32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// argmin/float16[9 7] axis 0
module @argmin_float16_9_7__axis_0 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<9x7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xi32>, tensor<3xi32>) {
    %v0 = stablehlo.iota dim = 0 : tensor<9x7xi32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x007C"> : tensor<f16> loc(#loc0)
    %v2 = stablehlo.constant dense<"0xFFFFFF7F"> : tensor<i32> loc(#loc0)
    %v21:2 = "stablehlo.reduce"(%arg0, %v0, %v1, %v2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v3: tensor<f16>, %v4: tensor<i32>, %v5: tensor<f16>, %v6: tensor<i32>):
      %v7 = stablehlo.compare LT, %v3, %v5, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v8 = stablehlo.compare EQ, %v3, %v5, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v9 = stablehlo.compare NE, %v3, %v3, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v10 = stablehlo.compare NE, %v5, %v5, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v11 = stablehlo.not %v10 : tensor<i1> loc(#loc0)
      %v12 = stablehlo.and %v9, %v11 : tensor<i1> loc(#loc0)
      %v13 = stablehlo.or %v7, %v12 : tensor<i1> loc(#loc0)
      %v14 = stablehlo.and %v9, %v10 : tensor<i1> loc(#loc0)
      %v15 = stablehlo.or %v8, %v14 : tensor<i1> loc(#loc0)
      %v16 = stablehlo.compare LT, %v4, %v6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> loc(#loc0)
      %v17 = stablehlo.and %v15, %v16 : tensor<i1> loc(#loc0)
      %v18 = stablehlo.or %v13, %v17 : tensor<i1> loc(#loc0)
      %v19 = stablehlo.select %v18, %v3, %v5 : tensor<i1>, tensor<f16> loc(#loc0)
      %v20 = stablehlo.select %v18, %v4, %v6 : tensor<i1>, tensor<i32> loc(#loc0)
      stablehlo.return %v19, %v20 : tensor<f16>, tensor<i32>
    }) : (tensor<9x7xf16>, tensor<9x7xi32>, tensor<f16>, tensor<i32>) -> (tensor<7xf16>, tensor<7xi32>) loc(#loc0)
    return %v21#1, %arg1 : tensor<7xi32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// top_k/float16[50] k 50
module @top_k_float16_50__k_50 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<50xf16>, %arg1: tensor<3xi32>) -> (tensor<50xf16>, tensor<50xi32>, tensor<3xi32>) {
    %v0 = stablehlo.iota dim = 0 : tensor<50xi32> loc(#loc0)
    %v11:2 = "stablehlo.sort"(%arg0, %v0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%v1: tensor<f16>, %v2: tensor<f16>, %v3: tensor<i32>, %v4: tensor<i32>):
      %v5 = stablehlo.compare GT, %v1, %v2, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v6 = stablehlo.compare NE, %v2, %v2, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v7 = stablehlo.compare NE, %v1, %v1, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v8 = stablehlo.not %v6 : tensor<i1> loc(#loc0)
      %v9 = stablehlo.and %v7, %v8 : tensor<i1> loc(#loc0)
      %v10 = stablehlo.or %v5, %v9 : tensor<i1> loc(#loc0)
      stablehlo.return %v10 : tensor<i1>
    }) : (tensor<50xf16>, tensor<50xi32>) -> (tensor<50xf16>, tensor<50xi32>) loc(#loc0)
    %v12 = "stablehlo.slice"(%v11#0) <{limit_indices = array<i64: 50>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<50xf16>) -> (tensor<50xf16>) loc(#loc0)
    %v13 = "stablehlo.slice"(%v11#1) <{limit_indices = array<i64: 50>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<50xi32>) -> (tensor<50xi32>) loc(#loc0)
    return %v12, %v13, %arg1 : tensor<50xf16>, tensor<50xi32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// conv/float16 1d
module @conv_float16_1d attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7x3xf16>, %arg1: tensor<3x3x4xf16>, %arg2: tensor<3xi32>) -> (tensor<2x5x4xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<2x7x3xf16>) -> tensor<2x7x3xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<3x3x4xf16>) -> tensor<3x3x4xf32> loc(#loc0)
    %v2 = stablehlo.convolution(%v0, %v1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x7x3xf32>, tensor<3x3x4xf32>) -> tensor<2x5x4xf32> loc(#loc0)
    %v3 = stablehlo.convert %v2 : (tensor<2x5x4xf32>) -> tensor<2x5x4xf16> loc(#loc0)
    return %v3, %arg2 : tensor<2x5x4xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// conv_input_grad/float16 1d
module @conv_input_grad_float16_1d attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x4xf16>, %arg1: tensor<3x3x4xf16>, %arg2: tensor<3xi32>) -> (tensor<2x7x3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.reverse %arg1, dims = [0] : tensor<3x3x4xf16> loc(#loc0)
    %v1 = stablehlo.convert %arg0 : (tensor<2x5x4xf16>) -> tensor<2x5x4xf32> loc(#loc0)
    %v2 = stablehlo.convert %v0 : (tensor<3x3x4xf16>) -> tensor<3x3x4xf32> loc(#loc0)
    %v3 = stablehlo.convolution(%v1, %v2) dim_numbers = [b, 0, f]x[0, o, i]->[b, 0, f], window = {stride = [1], pad = [[2, 2]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x5x4xf32>, tensor<3x3x4xf32>) -> tensor<2x7x3xf32> loc(#loc0)
    %v4 = stablehlo.convert %v3 : (tensor<2x7x3xf32>) -> tensor<2x7x3xf16> loc(#loc0)
    return %v4, %arg2 : tensor<2x7x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// conv_kernel_grad/float16 1d
module @conv_kernel_grad_float16_1d attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7x3xf16>, %arg1: tensor<2x5x4xf16>, %arg2: tensor<3xi32>) -> (tensor<3x3x4xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<2x7x3xf16>) -> tensor<2x7x3xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<2x5x4xf16>) -> tensor<2x5x4xf32> loc(#loc0)
    %v2 = stablehlo.convolution(%v0, %v1) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x7x3xf32>, tensor<2x5x4xf32>) -> tensor<3x3x4xf32> loc(#loc0)
    %v3 = stablehlo.convert %v2 : (tensor<3x3x4xf32>) -> tensor<3x3x4xf16> loc(#loc0)
    return %v3, %arg2 : tensor<3x3x4xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// max_pool/float16 1d
module @max_pool_float16_1d attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7x3xf16>, %arg1: tensor<3xi32>) -> (tensor<2x3x3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x00FC"> : tensor<f16> loc(#loc0)
    %v4 = "stablehlo.reduce_window"(%arg0, %v0) <{padding = dense<[[0, 0], [0, 0], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%v1: tensor<f16>, %v2: tensor<f16>):
      %v3 = stablehlo.maximum %v1, %v2 : tensor<f16> loc(#loc0)
      stablehlo.return %v3 : tensor<f16>
    }) : (tensor<2x7x3xf16>, tensor<f16>) -> (tensor<2x3x3xf16>) loc(#loc0)
    return %v4, %arg1 : tensor<2x3x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// avg_pool/float16 1d
module @avg_pool_float16_1d attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7x3xf16>, %arg1: tensor<3xi32>) -> (tensor<2x3x3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<2x7x3xf16>) -> tensor<2x7x3xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v5 = "stablehlo.reduce_window"(%v0, %v1) <{padding = dense<[[0, 0], [0, 0], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%v2: tensor<f32>, %v3: tensor<f32>):
      %v4 = stablehlo.add %v2, %v3 : tensor<f32> loc(#loc0)
      stablehlo.return %v4 : tensor<f32>
    }) : (tensor<2x7x3xf32>, tensor<f32>) -> (tensor<2x3x3xf32>) loc(#loc0)
    %v6 = stablehlo.constant dense<"0x000000400000004000000040"> : tensor<3xf32> loc(#loc0)
    %v7 = stablehlo.broadcast_in_dim %v6, dims = [1] : (tensor<3xf32>) -> tensor<2x3x3xf32> loc(#loc0)
    %v8 = stablehlo.divide %v5, %v7 : tensor<2x3x3xf32> loc(#loc0)
    %v9 = stablehlo.convert %v8 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf16> loc(#loc0)
    return %v9, %arg1 : tensor<2x3x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// max_pool_grad/float16 1d ties false
module @max_pool_grad_float16_1d_ties_false attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7x3xf16>, %arg1: tensor<2x3x3xf16>, %arg2: tensor<2x3x3xf16>, %arg3: tensor<3xi32>) -> (tensor<2x7x3xf16>, tensor<3xi32>) {
    %v5 = stablehlo.constant dense<"0x0000"> : tensor<f16> loc(#loc0)
    %v9 = "stablehlo.select_and_scatter"(%arg0, %arg2, %v5) <{padding = dense<[[0, 0], [0, 0], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%v0: tensor<f16>, %v1: tensor<f16>):
      %v2 = stablehlo.compare GE, %v0, %v1, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v3 = stablehlo.compare NE, %v0, %v0, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1> loc(#loc0)
      %v4 = stablehlo.or %v2, %v3 : tensor<i1> loc(#loc0)
      stablehlo.return %v4 : tensor<i1>
    }, {
    ^bb0(%v6: tensor<f16>, %v7: tensor<f16>):
      %v8 = stablehlo.add %v6, %v7 : tensor<f16> loc(#loc0)
      stablehlo.return %v8 : tensor<f16>
    }) : (tensor<2x7x3xf16>, tensor<2x3x3xf16>, tensor<f16>) -> (tensor<2x7x3xf16>) loc(#loc0)
    return %v9, %arg3 : tensor<2x7x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// avg_pool_grad/float16 1d
module @avg_pool_grad_float16_1d attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x3xf16>, %arg1: tensor<3xi32>) -> (tensor<2x7x3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<2x3x3xf16>) -> tensor<2x3x3xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x000000400000004000000040"> : tensor<3xf32> loc(#loc0)
    %v2 = stablehlo.broadcast_in_dim %v1, dims = [1] : (tensor<3xf32>) -> tensor<2x3x3xf32> loc(#loc0)
    %v3 = stablehlo.divide %v0, %v2 : tensor<2x3x3xf32> loc(#loc0)
    %v4 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v5 = stablehlo.pad %v3, %v4, low = [0, 1, 0], high = [0, 2, 0], interior = [0, 1, 0] : (tensor<2x3x3xf32>, tensor<f32>) -> tensor<2x8x3xf32> loc(#loc0)
    %v9 = "stablehlo.reduce_window"(%v5, %v4) <{padding = dense<[[0, 0], [0, 0], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 1, 1>}> ({
    ^bb0(%v6: tensor<f32>, %v7: tensor<f32>):
      %v8 = stablehlo.add %v6, %v7 : tensor<f32> loc(#loc0)
      stablehlo.return %v8 : tensor<f32>
    }) : (tensor<2x8x3xf32>, tensor<f32>) -> (tensor<2x7x3xf32>) loc(#loc0)
    %v10 = stablehlo.convert %v9 : (tensor<2x7x3xf32>) -> tensor<2x7x3xf16> loc(#loc0)
    return %v10, %arg1 : tensor<2x7x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// batch_norm/float16[5]
module @batch_norm_float16_5_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf16>, %arg1: tensor<5xf16>, %arg2: tensor<5xf16>, %arg3: tensor<3xi32>) -> (tensor<5xf16>, tensor<5xf16>, tensor<5xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<5xf16>) -> tensor<5xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<5xf16>) -> tensor<5xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<5xf16>) -> tensor<5xf32> loc(#loc0)
    %v3 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v7 = "stablehlo.reduce"(%v0, %v3) <{dimensions = array<i64>}> ({
    ^bb0(%v4: tensor<f32>, %v5: tensor<f32>):
      %v6 = stablehlo.add %v4, %v5 : tensor<f32> loc(#loc0)
      stablehlo.return %v6 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>) loc(#loc0)
    %v8 = stablehlo.constant dense<"0x0000803F"> : tensor<5xf32> loc(#loc0)
    %v9 = stablehlo.divide %v7, %v8 : tensor<5xf32> loc(#loc0)
    %v10 = stablehlo.broadcast_in_dim %v9, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v11 = stablehlo.subtract %v0, %v10 : tensor<5xf32> loc(#loc0)
    %v12 = stablehlo.multiply %v11, %v11 : tensor<5xf32> loc(#loc0)
    %v16 = "stablehlo.reduce"(%v12, %v3) <{dimensions = array<i64>}> ({
    ^bb0(%v13: tensor<f32>, %v14: tensor<f32>):
      %v15 = stablehlo.add %v13, %v14 : tensor<f32> loc(#loc0)
      stablehlo.return %v15 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>) loc(#loc0)
    %v17 = stablehlo.divide %v16, %v8 : tensor<5xf32> loc(#loc0)
    %v18 = stablehlo.constant dense<"0x6F12833A"> : tensor<5xf32> loc(#loc0)
    %v19 = stablehlo.add %v17, %v18 : tensor<5xf32> loc(#loc0)
    %v20 = stablehlo.rsqrt %v19 : tensor<5xf32> loc(#loc0)
    %v21 = stablehlo.multiply %v1, %v20 : tensor<5xf32> loc(#loc0)
    %v22 = stablehlo.broadcast_in_dim %v21, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v23 = stablehlo.multiply %v11, %v22 : tensor<5xf32> loc(#loc0)
    %v24 = stablehlo.broadcast_in_dim %v2, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v25 = stablehlo.add %v23, %v24 : tensor<5xf32> loc(#loc0)
    %v26 = stablehlo.convert %v25 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    %v27 = stablehlo.convert %v9 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    %v28 = stablehlo.convert %v17 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    return %v26, %v27, %v28, %arg3 : tensor<5xf16>, tensor<5xf16>, tensor<5xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// batch_norm_grad/float16[5]
module @batch_norm_grad_float16_5_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf16>, %arg1: tensor<5xf16>, %arg2: tensor<5xf16>, %arg3: tensor<5xf16>, %arg4: tensor<5xf16>, %arg5: tensor<3xi32>) -> (tensor<5xf16>, tensor<5xf16>, tensor<5xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<5xf16>) -> tensor<5xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<5xf16>) -> tensor<5xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<5xf16>) -> tensor<5xf32> loc(#loc0)
    %v3 = stablehlo.convert %arg3 : (tensor<5xf16>) -> tensor<5xf32> loc(#loc0)
    %v4 = stablehlo.convert %arg4 : (tensor<5xf16>) -> tensor<5xf32> loc(#loc0)
    %v5 = stablehlo.constant dense<"0x6F12833A"> : tensor<5xf32> loc(#loc0)
    %v6 = stablehlo.add %v3, %v5 : tensor<5xf32> loc(#loc0)
    %v7 = stablehlo.rsqrt %v6 : tensor<5xf32> loc(#loc0)
    %v8 = stablehlo.broadcast_in_dim %v7, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v9 = stablehlo.broadcast_in_dim %v2, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v10 = stablehlo.subtract %v0, %v9 : tensor<5xf32> loc(#loc0)
    %v11 = stablehlo.multiply %v10, %v8 : tensor<5xf32> loc(#loc0)
    %v12 = stablehlo.broadcast_in_dim %v1, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v13 = stablehlo.multiply %v4, %v12 : tensor<5xf32> loc(#loc0)
    %v14 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v18 = "stablehlo.reduce"(%v13, %v14) <{dimensions = array<i64>}> ({
    ^bb0(%v15: tensor<f32>, %v16: tensor<f32>):
      %v17 = stablehlo.add %v15, %v16 : tensor<f32> loc(#loc0)
      stablehlo.return %v17 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>) loc(#loc0)
    %v19 = stablehlo.constant dense<"0x0000803F"> : tensor<5xf32> loc(#loc0)
    %v20 = stablehlo.divide %v18, %v19 : tensor<5xf32> loc(#loc0)
    %v21 = stablehlo.broadcast_in_dim %v20, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v22 = stablehlo.multiply %v13, %v11 : tensor<5xf32> loc(#loc0)
    %v26 = "stablehlo.reduce"(%v22, %v14) <{dimensions = array<i64>}> ({
    ^bb0(%v23: tensor<f32>, %v24: tensor<f32>):
      %v25 = stablehlo.add %v23, %v24 : tensor<f32> loc(#loc0)
      stablehlo.return %v25 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>) loc(#loc0)
    %v27 = stablehlo.divide %v26, %v19 : tensor<5xf32> loc(#loc0)
    %v28 = stablehlo.broadcast_in_dim %v27, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v29 = stablehlo.subtract %v13, %v21 : tensor<5xf32> loc(#loc0)
    %v30 = stablehlo.multiply %v11, %v28 : tensor<5xf32> loc(#loc0)
    %v31 = stablehlo.subtract %v29, %v30 : tensor<5xf32> loc(#loc0)
    %v32 = stablehlo.multiply %v8, %v31 : tensor<5xf32> loc(#loc0)
    %v33 = stablehlo.multiply %v4, %v11 : tensor<5xf32> loc(#loc0)
    %v37 = "stablehlo.reduce"(%v33, %v14) <{dimensions = array<i64>}> ({
    ^bb0(%v34: tensor<f32>, %v35: tensor<f32>):
      %v36 = stablehlo.add %v34, %v35 : tensor<f32> loc(#loc0)
      stablehlo.return %v36 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>) loc(#loc0)
    %v41 = "stablehlo.reduce"(%v4, %v14) <{dimensions = array<i64>}> ({
    ^bb0(%v38: tensor<f32>, %v39: tensor<f32>):
      %v40 = stablehlo.add %v38, %v39 : tensor<f32> loc(#loc0)
      stablehlo.return %v40 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>) loc(#loc0)
    %v42 = stablehlo.convert %v32 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    %v43 = stablehlo.convert %v37 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    %v44 = stablehlo.convert %v41 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    return %v42, %v43, %v44, %arg5 : tensor<5xf16>, tensor<5xf16>, tensor<5xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// layer_norm/float16[4 3]
module @layer_norm_float16_4_3_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf16>, %arg1: tensor<3xf16>, %arg2: tensor<3xf16>, %arg3: tensor<3xi32>) -> (tensor<4x3xf16>, tensor<4xf16>, tensor<4xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x3xf16>) -> tensor<4x3xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<3xf16>) -> tensor<3xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<3xf16>) -> tensor<3xf32> loc(#loc0)
    %v3 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v7 = "stablehlo.reduce"(%v0, %v3) <{dimensions = array<i64: 1>}> ({
    ^bb0(%v4: tensor<f32>, %v5: tensor<f32>):
      %v6 = stablehlo.add %v4, %v5 : tensor<f32> loc(#loc0)
      stablehlo.return %v6 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v8 = stablehlo.constant dense<"0x00004040"> : tensor<4xf32> loc(#loc0)
    %v9 = stablehlo.divide %v7, %v8 : tensor<4xf32> loc(#loc0)
    %v10 = stablehlo.broadcast_in_dim %v9, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v11 = stablehlo.subtract %v0, %v10 : tensor<4x3xf32> loc(#loc0)
    %v12 = stablehlo.multiply %v11, %v11 : tensor<4x3xf32> loc(#loc0)
    %v16 = "stablehlo.reduce"(%v12, %v3) <{dimensions = array<i64: 1>}> ({
    ^bb0(%v13: tensor<f32>, %v14: tensor<f32>):
      %v15 = stablehlo.add %v13, %v14 : tensor<f32> loc(#loc0)
      stablehlo.return %v15 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v17 = stablehlo.divide %v16, %v8 : tensor<4xf32> loc(#loc0)
    %v18 = stablehlo.constant dense<"0x6F12833A"> : tensor<4xf32> loc(#loc0)
    %v19 = stablehlo.add %v17, %v18 : tensor<4xf32> loc(#loc0)
    %v20 = stablehlo.rsqrt %v19 : tensor<4xf32> loc(#loc0)
    %v21 = stablehlo.broadcast_in_dim %v20, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v22 = stablehlo.multiply %v11, %v21 : tensor<4x3xf32> loc(#loc0)
    %v23 = stablehlo.broadcast_in_dim %v1, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v24 = stablehlo.multiply %v22, %v23 : tensor<4x3xf32> loc(#loc0)
    %v25 = stablehlo.broadcast_in_dim %v2, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v26 = stablehlo.add %v24, %v25 : tensor<4x3xf32> loc(#loc0)
    %v27 = stablehlo.convert %v26 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    %v28 = stablehlo.convert %v9 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    %v29 = stablehlo.convert %v20 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    return %v27, %v28, %v29, %arg3 : tensor<4x3xf16>, tensor<4xf16>, tensor<4xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// layer_norm_grad/float16[4 3]
module @layer_norm_grad_float16_4_3_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf16>, %arg1: tensor<3xf16>, %arg2: tensor<4xf16>, %arg3: tensor<4xf16>, %arg4: tensor<4x3xf16>, %arg5: tensor<3xi32>) -> (tensor<4x3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x3xf16>) -> tensor<4x3xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<3xf16>) -> tensor<3xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<4xf16>) -> tensor<4xf32> loc(#loc0)
    %v3 = stablehlo.convert %arg3 : (tensor<4xf16>) -> tensor<4xf32> loc(#loc0)
    %v4 = stablehlo.convert %arg4 : (tensor<4x3xf16>) -> tensor<4x3xf32> loc(#loc0)
    %v5 = stablehlo.broadcast_in_dim %v3, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v6 = stablehlo.broadcast_in_dim %v2, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v7 = stablehlo.subtract %v0, %v6 : tensor<4x3xf32> loc(#loc0)
    %v8 = stablehlo.multiply %v7, %v5 : tensor<4x3xf32> loc(#loc0)
    %v9 = stablehlo.broadcast_in_dim %v1, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v10 = stablehlo.multiply %v4, %v9 : tensor<4x3xf32> loc(#loc0)
    %v11 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v15 = "stablehlo.reduce"(%v10, %v11) <{dimensions = array<i64: 1>}> ({
    ^bb0(%v12: tensor<f32>, %v13: tensor<f32>):
      %v14 = stablehlo.add %v12, %v13 : tensor<f32> loc(#loc0)
      stablehlo.return %v14 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v16 = stablehlo.constant dense<"0x00004040"> : tensor<4xf32> loc(#loc0)
    %v17 = stablehlo.divide %v15, %v16 : tensor<4xf32> loc(#loc0)
    %v18 = stablehlo.broadcast_in_dim %v17, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v19 = stablehlo.multiply %v10, %v8 : tensor<4x3xf32> loc(#loc0)
    %v23 = "stablehlo.reduce"(%v19, %v11) <{dimensions = array<i64: 1>}> ({
    ^bb0(%v20: tensor<f32>, %v21: tensor<f32>):
      %v22 = stablehlo.add %v20, %v21 : tensor<f32> loc(#loc0)
      stablehlo.return %v22 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v24 = stablehlo.divide %v23, %v16 : tensor<4xf32> loc(#loc0)
    %v25 = stablehlo.broadcast_in_dim %v24, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v26 = stablehlo.subtract %v10, %v18 : tensor<4x3xf32> loc(#loc0)
    %v27 = stablehlo.multiply %v8, %v25 : tensor<4x3xf32> loc(#loc0)
    %v28 = stablehlo.subtract %v26, %v27 : tensor<4x3xf32> loc(#loc0)
    %v29 = stablehlo.multiply %v5, %v28 : tensor<4x3xf32> loc(#loc0)
    %v30 = stablehlo.multiply %v4, %v8 : tensor<4x3xf32> loc(#loc0)
    %v34 = "stablehlo.reduce"(%v30, %v11) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v31: tensor<f32>, %v32: tensor<f32>):
      %v33 = stablehlo.add %v31, %v32 : tensor<f32> loc(#loc0)
      stablehlo.return %v33 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> (tensor<3xf32>) loc(#loc0)
    %v38 = "stablehlo.reduce"(%v4, %v11) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v35: tensor<f32>, %v36: tensor<f32>):
      %v37 = stablehlo.add %v35, %v36 : tensor<f32> loc(#loc0)
      stablehlo.return %v37 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> (tensor<3xf32>) loc(#loc0)
    %v39 = stablehlo.convert %v29 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    %v40 = stablehlo.convert %v34 : (tensor<3xf32>) -> tensor<3xf16> loc(#loc0)
    %v41 = stablehlo.convert %v38 : (tensor<3xf32>) -> tensor<3xf16> loc(#loc0)
    return %v39, %v40, %v41, %arg5 : tensor<4x3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// group_norm/float16[4 3] in 1 groups
module @group_norm_float16_4_3__in_1_groups attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf16>, %arg1: tensor<3xf16>, %arg2: tensor<3xf16>, %arg3: tensor<3xi32>) -> (tensor<4x3xf16>, tensor<4x1xf16>, tensor<4x1xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x3xf16>) -> tensor<4x3xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<3xf16>) -> tensor<3xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<3xf16>) -> tensor<3xf32> loc(#loc0)
    %v3 = stablehlo.reshape %v0 : (tensor<4x3xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v4 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v8 = "stablehlo.reduce"(%v3, %v4) <{dimensions = array<i64: 1, 3>}> ({
    ^bb0(%v5: tensor<f32>, %v6: tensor<f32>):
      %v7 = stablehlo.add %v5, %v6 : tensor<f32> loc(#loc0)
      stablehlo.return %v7 : tensor<f32>
    }) : (tensor<4x1x1x3xf32>, tensor<f32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v9 = stablehlo.constant dense<"0x00004040"> : tensor<4x1xf32> loc(#loc0)
    %v10 = stablehlo.divide %v8, %v9 : tensor<4x1xf32> loc(#loc0)
    %v11 = stablehlo.broadcast_in_dim %v10, dims = [0, 2] : (tensor<4x1xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v12 = stablehlo.subtract %v3, %v11 : tensor<4x1x1x3xf32> loc(#loc0)
    %v13 = stablehlo.multiply %v12, %v12 : tensor<4x1x1x3xf32> loc(#loc0)
    %v17 = "stablehlo.reduce"(%v13, %v4) <{dimensions = array<i64: 1, 3>}> ({
    ^bb0(%v14: tensor<f32>, %v15: tensor<f32>):
      %v16 = stablehlo.add %v14, %v15 : tensor<f32> loc(#loc0)
      stablehlo.return %v16 : tensor<f32>
    }) : (tensor<4x1x1x3xf32>, tensor<f32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v18 = stablehlo.divide %v17, %v9 : tensor<4x1xf32> loc(#loc0)
    %v19 = stablehlo.constant dense<"0x6F12833A"> : tensor<4x1xf32> loc(#loc0)
    %v20 = stablehlo.add %v18, %v19 : tensor<4x1xf32> loc(#loc0)
    %v21 = stablehlo.rsqrt %v20 : tensor<4x1xf32> loc(#loc0)
    %v22 = stablehlo.broadcast_in_dim %v21, dims = [0, 2] : (tensor<4x1xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v23 = stablehlo.multiply %v12, %v22 : tensor<4x1x1x3xf32> loc(#loc0)
    %v24 = stablehlo.reshape %v1 : (tensor<3xf32>) -> tensor<1x3xf32> loc(#loc0)
    %v25 = stablehlo.broadcast_in_dim %v24, dims = [2, 3] : (tensor<1x3xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v26 = stablehlo.multiply %v23, %v25 : tensor<4x1x1x3xf32> loc(#loc0)
    %v27 = stablehlo.reshape %v2 : (tensor<3xf32>) -> tensor<1x3xf32> loc(#loc0)
    %v28 = stablehlo.broadcast_in_dim %v27, dims = [2, 3] : (tensor<1x3xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v29 = stablehlo.add %v26, %v28 : tensor<4x1x1x3xf32> loc(#loc0)
    %v30 = stablehlo.reshape %v29 : (tensor<4x1x1x3xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v31 = stablehlo.convert %v30 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    %v32 = stablehlo.convert %v10 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    %v33 = stablehlo.convert %v21 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    return %v31, %v32, %v33, %arg3 : tensor<4x3xf16>, tensor<4x1xf16>, tensor<4x1xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// group_norm_grad/float16[4 3] in 1 groups
module @group_norm_grad_float16_4_3__in_1_groups attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf16>, %arg1: tensor<3xf16>, %arg2: tensor<4x1xf16>, %arg3: tensor<4x1xf16>, %arg4: tensor<4x3xf16>, %arg5: tensor<3xi32>) -> (tensor<4x3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x3xf16>) -> tensor<4x3xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<3xf16>) -> tensor<3xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v3 = stablehlo.convert %arg3 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v4 = stablehlo.convert %arg4 : (tensor<4x3xf16>) -> tensor<4x3xf32> loc(#loc0)
    %v5 = stablehlo.reshape %v0 : (tensor<4x3xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v6 = stablehlo.reshape %v4 : (tensor<4x3xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v7 = stablehlo.reshape %v1 : (tensor<3xf32>) -> tensor<1x3xf32> loc(#loc0)
    %v8 = stablehlo.broadcast_in_dim %v3, dims = [0, 2] : (tensor<4x1xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v9 = stablehlo.broadcast_in_dim %v2, dims = [0, 2] : (tensor<4x1xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v10 = stablehlo.subtract %v5, %v9 : tensor<4x1x1x3xf32> loc(#loc0)
    %v11 = stablehlo.multiply %v10, %v8 : tensor<4x1x1x3xf32> loc(#loc0)
    %v12 = stablehlo.broadcast_in_dim %v7, dims = [2, 3] : (tensor<1x3xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v13 = stablehlo.multiply %v6, %v12 : tensor<4x1x1x3xf32> loc(#loc0)
    %v14 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v18 = "stablehlo.reduce"(%v13, %v14) <{dimensions = array<i64: 1, 3>}> ({
    ^bb0(%v15: tensor<f32>, %v16: tensor<f32>):
      %v17 = stablehlo.add %v15, %v16 : tensor<f32> loc(#loc0)
      stablehlo.return %v17 : tensor<f32>
    }) : (tensor<4x1x1x3xf32>, tensor<f32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v19 = stablehlo.constant dense<"0x00004040"> : tensor<4x1xf32> loc(#loc0)
    %v20 = stablehlo.divide %v18, %v19 : tensor<4x1xf32> loc(#loc0)
    %v21 = stablehlo.broadcast_in_dim %v20, dims = [0, 2] : (tensor<4x1xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v22 = stablehlo.multiply %v13, %v11 : tensor<4x1x1x3xf32> loc(#loc0)
    %v26 = "stablehlo.reduce"(%v22, %v14) <{dimensions = array<i64: 1, 3>}> ({
    ^bb0(%v23: tensor<f32>, %v24: tensor<f32>):
      %v25 = stablehlo.add %v23, %v24 : tensor<f32> loc(#loc0)
      stablehlo.return %v25 : tensor<f32>
    }) : (tensor<4x1x1x3xf32>, tensor<f32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v27 = stablehlo.divide %v26, %v19 : tensor<4x1xf32> loc(#loc0)
    %v28 = stablehlo.broadcast_in_dim %v27, dims = [0, 2] : (tensor<4x1xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v29 = stablehlo.subtract %v13, %v21 : tensor<4x1x1x3xf32> loc(#loc0)
    %v30 = stablehlo.multiply %v11, %v28 : tensor<4x1x1x3xf32> loc(#loc0)
    %v31 = stablehlo.subtract %v29, %v30 : tensor<4x1x1x3xf32> loc(#loc0)
    %v32 = stablehlo.multiply %v8, %v31 : tensor<4x1x1x3xf32> loc(#loc0)
    %v33 = stablehlo.multiply %v6, %v11 : tensor<4x1x1x3xf32> loc(#loc0)
    %v37 = "stablehlo.reduce"(%v33, %v14) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%v34: tensor<f32>, %v35: tensor<f32>):
      %v36 = stablehlo.add %v34, %v35 : tensor<f32> loc(#loc0)
      stablehlo.return %v36 : tensor<f32>
    }) : (tensor<4x1x1x3xf32>, tensor<f32>) -> (tensor<1x3xf32>) loc(#loc0)
    %v41 = "stablehlo.reduce"(%v6, %v14) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%v38: tensor<f32>, %v39: tensor<f32>):
      %v40 = stablehlo.add %v38, %v39 : tensor<f32> loc(#loc0)
      stablehlo.return %v40 : tensor<f32>
    }) : (tensor<4x1x1x3xf32>, tensor<f32>) -> (tensor<1x3xf32>) loc(#loc0)
    %v42 = stablehlo.reshape %v32 : (tensor<4x1x1x3xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v43 = stablehlo.reshape %v37 : (tensor<1x3xf32>) -> tensor<3xf32> loc(#loc0)
    %v44 = stablehlo.reshape %v41 : (tensor<1x3xf32>) -> tensor<3xf32> loc(#loc0)
    %v45 = stablehlo.convert %v42 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    %v46 = stablehlo.convert %v43 : (tensor<3xf32>) -> tensor<3xf16> loc(#loc0)
    %v47 = stablehlo.convert %v44 : (tensor<3xf32>) -> tensor<3xf16> loc(#loc0)
    return %v45, %v46, %v47, %arg5 : tensor<4x3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// lstm_cell/float16[4 1]
module @lstm_cell_float16_4_1_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x4xf16>, %arg1: tensor<4x1xf16>, %arg2: tensor<3xi32>) -> (tensor<4x1xf16>, tensor<4x1xf16>, tensor<4x4xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x4xf16>) -> tensor<4x4xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v2 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v3 = stablehlo.logistic %v2 : tensor<4x1xf32> loc(#loc0)
    %v4 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v5 = stablehlo.logistic %v4 : tensor<4x1xf32> loc(#loc0)
    %v6 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v7 = stablehlo.tanh %v6 : tensor<4x1xf32> loc(#loc0)
    %v8 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 3>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v9 = stablehlo.logistic %v8 : tensor<4x1xf32> loc(#loc0)
    %v10 = stablehlo.multiply %v5, %v1 : tensor<4x1xf32> loc(#loc0)
    %v11 = stablehlo.multiply %v3, %v7 : tensor<4x1xf32> loc(#loc0)
    %v12 = stablehlo.add %v10, %v11 : tensor<4x1xf32> loc(#loc0)
    %v13 = stablehlo.concatenate %v3, %v5, %v7, %v9, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x4xf32> loc(#loc0)
    %v14 = stablehlo.tanh %v12 : tensor<4x1xf32> loc(#loc0)
    %v15 = stablehlo.multiply %v9, %v14 : tensor<4x1xf32> loc(#loc0)
    %v16 = stablehlo.convert %v15 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    %v17 = stablehlo.convert %v12 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    %v18 = stablehlo.convert %v13 : (tensor<4x4xf32>) -> tensor<4x4xf16> loc(#loc0)
    return %v16, %v17, %v18, %arg2 : tensor<4x1xf16>, tensor<4x1xf16>, tensor<4x4xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// lstm_cell_grad/float16[4 1]
module @lstm_cell_grad_float16_4_1_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x4xf16>, %arg1: tensor<4x1xf16>, %arg2: tensor<4x1xf16>, %arg3: tensor<4x1xf16>, %arg4: tensor<3xi32>) -> (tensor<4x4xf16>, tensor<4x1xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x4xf16>) -> tensor<4x4xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v3 = stablehlo.convert %arg3 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v4 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v5 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v6 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v7 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 3>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v8 = stablehlo.constant dense<"0x0000803F"> : tensor<4x1xf32> loc(#loc0)
    %v9 = stablehlo.multiply %v5, %v1 : tensor<4x1xf32> loc(#loc0)
    %v10 = stablehlo.multiply %v4, %v6 : tensor<4x1xf32> loc(#loc0)
    %v11 = stablehlo.add %v9, %v10 : tensor<4x1xf32> loc(#loc0)
    %v12 = stablehlo.tanh %v11 : tensor<4x1xf32> loc(#loc0)
    %v13 = stablehlo.multiply %v2, %v7 : tensor<4x1xf32> loc(#loc0)
    %v14 = stablehlo.multiply %v12, %v12 : tensor<4x1xf32> loc(#loc0)
    %v15 = stablehlo.subtract %v8, %v14 : tensor<4x1xf32> loc(#loc0)
    %v16 = stablehlo.multiply %v13, %v15 : tensor<4x1xf32> loc(#loc0)
    %v17 = stablehlo.add %v3, %v16 : tensor<4x1xf32> loc(#loc0)
    %v18 = stablehlo.multiply %v17, %v6 : tensor<4x1xf32> loc(#loc0)
    %v19 = stablehlo.subtract %v8, %v4 : tensor<4x1xf32> loc(#loc0)
    %v20 = stablehlo.multiply %v4, %v19 : tensor<4x1xf32> loc(#loc0)
    %v21 = stablehlo.multiply %v18, %v20 : tensor<4x1xf32> loc(#loc0)
    %v22 = stablehlo.multiply %v17, %v1 : tensor<4x1xf32> loc(#loc0)
    %v23 = stablehlo.subtract %v8, %v5 : tensor<4x1xf32> loc(#loc0)
    %v24 = stablehlo.multiply %v5, %v23 : tensor<4x1xf32> loc(#loc0)
    %v25 = stablehlo.multiply %v22, %v24 : tensor<4x1xf32> loc(#loc0)
    %v26 = stablehlo.multiply %v17, %v4 : tensor<4x1xf32> loc(#loc0)
    %v27 = stablehlo.multiply %v6, %v6 : tensor<4x1xf32> loc(#loc0)
    %v28 = stablehlo.subtract %v8, %v27 : tensor<4x1xf32> loc(#loc0)
    %v29 = stablehlo.multiply %v26, %v28 : tensor<4x1xf32> loc(#loc0)
    %v30 = stablehlo.multiply %v2, %v12 : tensor<4x1xf32> loc(#loc0)
    %v31 = stablehlo.subtract %v8, %v7 : tensor<4x1xf32> loc(#loc0)
    %v32 = stablehlo.multiply %v7, %v31 : tensor<4x1xf32> loc(#loc0)
    %v33 = stablehlo.multiply %v30, %v32 : tensor<4x1xf32> loc(#loc0)
    %v34 = stablehlo.concatenate %v21, %v25, %v29, %v33, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x4xf32> loc(#loc0)
    %v35 = stablehlo.multiply %v17, %v5 : tensor<4x1xf32> loc(#loc0)
    %v36 = stablehlo.convert %v34 : (tensor<4x4xf32>) -> tensor<4x4xf16> loc(#loc0)
    %v37 = stablehlo.convert %v35 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    return %v36, %v37, %arg4 : tensor<4x4xf16>, tensor<4x1xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// gru_cell/float16[4 1]
module @gru_cell_float16_4_1_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf16>, %arg1: tensor<4x3xf16>, %arg2: tensor<4x1xf16>, %arg3: tensor<3xi32>) -> (tensor<4x1xf16>, tensor<4x3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x3xf16>) -> tensor<4x3xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<4x3xf16>) -> tensor<4x3xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v3 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x3xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v4 = "stablehlo.slice"(%v1) <{limit_indices = array<i64: 4, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x3xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v5 = stablehlo.add %v3, %v4 : tensor<4x1xf32> loc(#loc0)
    %v6 = stablehlo.logistic %v5 : tensor<4x1xf32> loc(#loc0)
    %v7 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}> : (tensor<4x3xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v8 = "stablehlo.slice"(%v1) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}> : (tensor<4x3xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v9 = stablehlo.add %v7, %v8 : tensor<4x1xf32> loc(#loc0)
    %v10 = stablehlo.logistic %v9 : tensor<4x1xf32> loc(#loc0)
    %v11 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 1>}> : (tensor<4x3xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v12 = "stablehlo.slice"(%v1) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 1>}> : (tensor<4x3xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v13 = stablehlo.multiply %v10, %v12 : tensor<4x1xf32> loc(#loc0)
    %v14 = stablehlo.add %v11, %v13 : tensor<4x1xf32> loc(#loc0)
    %v15 = stablehlo.tanh %v14 : tensor<4x1xf32> loc(#loc0)
    %v16 = stablehlo.multiply %v6, %v2 : tensor<4x1xf32> loc(#loc0)
    %v17 = stablehlo.constant dense<"0x0000803F"> : tensor<4x1xf32> loc(#loc0)
    %v18 = stablehlo.subtract %v17, %v6 : tensor<4x1xf32> loc(#loc0)
    %v19 = stablehlo.multiply %v18, %v15 : tensor<4x1xf32> loc(#loc0)
    %v20 = stablehlo.add %v16, %v19 : tensor<4x1xf32> loc(#loc0)
    %v21 = stablehlo.concatenate %v6, %v10, %v15, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v22 = stablehlo.convert %v20 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    %v23 = stablehlo.convert %v21 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    return %v22, %v23, %arg3 : tensor<4x1xf16>, tensor<4x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// gru_cell_grad/float16[4 1]
module @gru_cell_grad_float16_4_1_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf16>, %arg1: tensor<4x3xf16>, %arg2: tensor<4x1xf16>, %arg3: tensor<4x1xf16>, %arg4: tensor<3xi32>) -> (tensor<4x3xf16>, tensor<4x3xf16>, tensor<4x1xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x3xf16>) -> tensor<4x3xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<4x3xf16>) -> tensor<4x3xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v3 = stablehlo.convert %arg3 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v4 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x3xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v5 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}> : (tensor<4x3xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v6 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 1>}> : (tensor<4x3xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v7 = stablehlo.constant dense<"0x0000803F"> : tensor<4x1xf32> loc(#loc0)
    %v8 = stablehlo.subtract %v7, %v4 : tensor<4x1xf32> loc(#loc0)
    %v9 = stablehlo.subtract %v2, %v6 : tensor<4x1xf32> loc(#loc0)
    %v10 = stablehlo.multiply %v3, %v9 : tensor<4x1xf32> loc(#loc0)
    %v11 = stablehlo.multiply %v4, %v8 : tensor<4x1xf32> loc(#loc0)
    %v12 = stablehlo.multiply %v10, %v11 : tensor<4x1xf32> loc(#loc0)
    %v13 = stablehlo.multiply %v3, %v8 : tensor<4x1xf32> loc(#loc0)
    %v14 = stablehlo.multiply %v6, %v6 : tensor<4x1xf32> loc(#loc0)
    %v15 = stablehlo.subtract %v7, %v14 : tensor<4x1xf32> loc(#loc0)
    %v16 = stablehlo.multiply %v13, %v15 : tensor<4x1xf32> loc(#loc0)
    %v17 = "stablehlo.slice"(%v1) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 1>}> : (tensor<4x3xf32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v18 = stablehlo.multiply %v16, %v17 : tensor<4x1xf32> loc(#loc0)
    %v19 = stablehlo.subtract %v7, %v5 : tensor<4x1xf32> loc(#loc0)
    %v20 = stablehlo.multiply %v5, %v19 : tensor<4x1xf32> loc(#loc0)
    %v21 = stablehlo.multiply %v18, %v20 : tensor<4x1xf32> loc(#loc0)
    %v22 = stablehlo.concatenate %v12, %v21, %v16, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v23 = stablehlo.multiply %v16, %v5 : tensor<4x1xf32> loc(#loc0)
    %v24 = stablehlo.concatenate %v12, %v21, %v23, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v25 = stablehlo.multiply %v3, %v4 : tensor<4x1xf32> loc(#loc0)
    %v26 = stablehlo.convert %v22 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    %v27 = stablehlo.convert %v24 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    %v28 = stablehlo.convert %v25 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    return %v26, %v27, %v28, %arg4 : tensor<4x3xf16>, tensor<4x3xf16>, tensor<4x1xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// softmax/float16[7]
module @softmax_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<7xf16>) -> tensor<7xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x000080FF"> : tensor<f32> loc(#loc0)
    %v5 = "stablehlo.reduce"(%v0, %v1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v2: tensor<f32>, %v3: tensor<f32>):
      %v4 = stablehlo.maximum %v2, %v3 : tensor<f32> loc(#loc0)
      stablehlo.return %v4 : tensor<f32>
    }) : (tensor<7xf32>, tensor<f32>) -> (tensor<f32>) loc(#loc0)
    %v6 = stablehlo.broadcast_in_dim %v5, dims = [] : (tensor<f32>) -> tensor<7xf32> loc(#loc0)
    %v7 = stablehlo.subtract %v0, %v6 : tensor<7xf32> loc(#loc0)
    %v8 = stablehlo.exponential %v7 : tensor<7xf32> loc(#loc0)
    %v9 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v13 = "stablehlo.reduce"(%v8, %v9) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v10: tensor<f32>, %v11: tensor<f32>):
      %v12 = stablehlo.add %v10, %v11 : tensor<f32> loc(#loc0)
      stablehlo.return %v12 : tensor<f32>
    }) : (tensor<7xf32>, tensor<f32>) -> (tensor<f32>) loc(#loc0)
    %v14 = stablehlo.broadcast_in_dim %v13, dims = [] : (tensor<f32>) -> tensor<7xf32> loc(#loc0)
    %v15 = stablehlo.divide %v8, %v14 : tensor<7xf32> loc(#loc0)
    %v16 = stablehlo.convert %v15 : (tensor<7xf32>) -> tensor<7xf16> loc(#loc0)
    return %v16, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// log_softmax/float16[7]
module @log_softmax_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<7xf16>) -> tensor<7xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x000080FF"> : tensor<f32> loc(#loc0)
    %v5 = "stablehlo.reduce"(%v0, %v1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v2: tensor<f32>, %v3: tensor<f32>):
      %v4 = stablehlo.maximum %v2, %v3 : tensor<f32> loc(#loc0)
      stablehlo.return %v4 : tensor<f32>
    }) : (tensor<7xf32>, tensor<f32>) -> (tensor<f32>) loc(#loc0)
    %v6 = stablehlo.broadcast_in_dim %v5, dims = [] : (tensor<f32>) -> tensor<7xf32> loc(#loc0)
    %v7 = stablehlo.subtract %v0, %v6 : tensor<7xf32> loc(#loc0)
    %v8 = stablehlo.exponential %v7 : tensor<7xf32> loc(#loc0)
    %v9 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v13 = "stablehlo.reduce"(%v8, %v9) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v10: tensor<f32>, %v11: tensor<f32>):
      %v12 = stablehlo.add %v10, %v11 : tensor<f32> loc(#loc0)
      stablehlo.return %v12 : tensor<f32>
    }) : (tensor<7xf32>, tensor<f32>) -> (tensor<f32>) loc(#loc0)
    %v14 = stablehlo.log %v13 : tensor<f32> loc(#loc0)
    %v15 = stablehlo.broadcast_in_dim %v14, dims = [] : (tensor<f32>) -> tensor<7xf32> loc(#loc0)
    %v16 = stablehlo.subtract %v7, %v15 : tensor<7xf32> loc(#loc0)
    %v17 = stablehlo.convert %v16 : (tensor<7xf32>) -> tensor<7xf16> loc(#loc0)
    return %v17, %arg1 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// softmax_grad/float16[7]
module @softmax_grad_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<7xf16>) -> tensor<7xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<7xf16>) -> tensor<7xf32> loc(#loc0)
    %v2 = stablehlo.multiply %v0, %v1 : tensor<7xf32> loc(#loc0)
    %v3 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v7 = "stablehlo.reduce"(%v2, %v3) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v4: tensor<f32>, %v5: tensor<f32>):
      %v6 = stablehlo.add %v4, %v5 : tensor<f32> loc(#loc0)
      stablehlo.return %v6 : tensor<f32>
    }) : (tensor<7xf32>, tensor<f32>) -> (tensor<f32>) loc(#loc0)
    %v8 = stablehlo.broadcast_in_dim %v7, dims = [] : (tensor<f32>) -> tensor<7xf32> loc(#loc0)
    %v9 = stablehlo.subtract %v1, %v8 : tensor<7xf32> loc(#loc0)
    %v10 = stablehlo.multiply %v0, %v9 : tensor<7xf32> loc(#loc0)
    %v11 = stablehlo.convert %v10 : (tensor<7xf32>) -> tensor<7xf16> loc(#loc0)
    return %v11, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// log_softmax_grad/float16[7]
module @log_softmax_grad_float16_7_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7xf16>, %arg1: tensor<7xf16>, %arg2: tensor<3xi32>) -> (tensor<7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<7xf16>) -> tensor<7xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<7xf16>) -> tensor<7xf32> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v6 = "stablehlo.reduce"(%v1, %v2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v3: tensor<f32>, %v4: tensor<f32>):
      %v5 = stablehlo.add %v3, %v4 : tensor<f32> loc(#loc0)
      stablehlo.return %v5 : tensor<f32>
    }) : (tensor<7xf32>, tensor<f32>) -> (tensor<f32>) loc(#loc0)
    %v7 = stablehlo.broadcast_in_dim %v6, dims = [] : (tensor<f32>) -> tensor<7xf32> loc(#loc0)
    %v8 = stablehlo.exponential %v0 : tensor<7xf32> loc(#loc0)
    %v9 = stablehlo.multiply %v8, %v7 : tensor<7xf32> loc(#loc0)
    %v10 = stablehlo.subtract %v1, %v9 : tensor<7xf32> loc(#loc0)
    %v11 = stablehlo.convert %v10 : (tensor<7xf32>) -> tensor<7xf16> loc(#loc0)
    return %v11, %arg2 : tensor<7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// sparse_softmax_cross_entropy/float16[4 1]
module @sparse_softmax_cross_entropy_float16_4_1_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x1xf16>, %arg1: tensor<4xi32>, %arg2: tensor<3xi32>) -> (tensor<4xf16>, tensor<4xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x000080FF"> : tensor<f32> loc(#loc0)
    %v5 = "stablehlo.reduce"(%v0, %v1) <{dimensions = array<i64: 1>}> ({
    ^bb0(%v2: tensor<f32>, %v3: tensor<f32>):
      %v4 = stablehlo.maximum %v2, %v3 : tensor<f32> loc(#loc0)
      stablehlo.return %v4 : tensor<f32>
    }) : (tensor<4x1xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v6 = stablehlo.broadcast_in_dim %v5, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32> loc(#loc0)
    %v7 = stablehlo.subtract %v0, %v6 : tensor<4x1xf32> loc(#loc0)
    %v8 = stablehlo.exponential %v7 : tensor<4x1xf32> loc(#loc0)
    %v9 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v13 = "stablehlo.reduce"(%v8, %v9) <{dimensions = array<i64: 1>}> ({
    ^bb0(%v10: tensor<f32>, %v11: tensor<f32>):
      %v12 = stablehlo.add %v10, %v11 : tensor<f32> loc(#loc0)
      stablehlo.return %v12 : tensor<f32>
    }) : (tensor<4x1xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v14 = stablehlo.log %v13 : tensor<4xf32> loc(#loc0)
    %v15 = stablehlo.iota dim = 0 : tensor<1xi32> loc(#loc0)
    %v16 = stablehlo.constant dense<"0x01000000"> : tensor<4xi32> loc(#loc0)
    %v17 = stablehlo.compare LT, %arg1, %v16, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc0)
    %v18 = stablehlo.constant dense<"0x00000000"> : tensor<4xi32> loc(#loc0)
    %v19 = stablehlo.compare GE, %arg1, %v18, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc0)
    %v20 = stablehlo.and %v17, %v19 : tensor<4xi1> loc(#loc0)
    %v21 = stablehlo.maximum %arg1, %v18 : tensor<4xi32> loc(#loc0)
    %v22 = stablehlo.minimum %v21, %v18 : tensor<4xi32> loc(#loc0)
    %v23 = "stablehlo.gather"(%v15, %v22) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<1xi32>, tensor<4xi32>) -> (tensor<4xi32>) loc(#loc0)
    %v24 = stablehlo.iota dim = 1 : tensor<4x1xi32> loc(#loc0)
    %v25 = stablehlo.broadcast_in_dim %v23, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32> loc(#loc0)
    %v26 = stablehlo.compare EQ, %v24, %v25, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1> loc(#loc0)
    %v27 = stablehlo.constant dense<"0x00000000"> : tensor<4x1xf32> loc(#loc0)
    %v28 = stablehlo.select %v26, %v7, %v27 : tensor<4x1xi1>, tensor<4x1xf32> loc(#loc0)
    %v32 = "stablehlo.reduce"(%v28, %v9) <{dimensions = array<i64: 1>}> ({
    ^bb0(%v29: tensor<f32>, %v30: tensor<f32>):
      %v31 = stablehlo.add %v29, %v30 : tensor<f32> loc(#loc0)
      stablehlo.return %v31 : tensor<f32>
    }) : (tensor<4x1xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v33 = stablehlo.subtract %v14, %v32 : tensor<4xf32> loc(#loc0)
    %v34 = stablehlo.add %v5, %v14 : tensor<4xf32> loc(#loc0)
    %v35 = stablehlo.convert %v33 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    %v36 = stablehlo.convert %v34 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    %v37 = stablehlo.convert %arg1 : (tensor<4xi32>) -> tensor<4xi64>
    %v38 = stablehlo.iota dim = 0 : tensor<4xi64>
    %v39 = stablehlo.constant dense<"0x0000000001000000"> : tensor<4xi64>
    %v40 = stablehlo.multiply %v38, %v39 : tensor<4xi64>
    %v41 = stablehlo.constant dense<"0x0000008000000000"> : tensor<4xi64>
    %v42 = stablehlo.add %v40, %v41 : tensor<4xi64>
    %v43 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<4xi64>
    %v44 = stablehlo.add %v42, %v37 : tensor<4xi64>
    %v45 = stablehlo.select %v20, %v43, %v44 : tensor<4xi1>, tensor<4xi64>
    %v46 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v50 = "stablehlo.reduce"(%v45, %v46) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v47: tensor<i64>, %v48: tensor<i64>):
      %v49 = stablehlo.minimum %v47, %v48 : tensor<i64>
      stablehlo.return %v49 : tensor<i64>
    }) : (tensor<4xi64>, tensor<i64>) -> (tensor<i64>)
    %v51 = stablehlo.compare NE, %v50, %v46, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v52 = stablehlo.constant dense<"0x2200000000000000"> : tensor<i64>
    %v53 = stablehlo.shift_right_logical %v50, %v52 : tensor<i64>
    %v54 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v55 = stablehlo.add %v53, %v54 : tensor<i64>
    %v56 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v57 = stablehlo.and %v50, %v56 : tensor<i64>
    %v58 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v59 = stablehlo.subtract %v57, %v58 : tensor<i64>
    %v60 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v61 = stablehlo.convert %v55 : (tensor<i64>) -> tensor<i32>
    %v62 = stablehlo.reshape %v61 : (tensor<i32>) -> tensor<1xi32>
    %v63 = stablehlo.convert %v59 : (tensor<i64>) -> tensor<i32>
    %v64 = stablehlo.reshape %v63 : (tensor<i32>) -> tensor<1xi32>
    %v65 = stablehlo.concatenate %v60, %v62, %v64, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v66 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v67 = stablehlo.reshape %v66 : (tensor<1xi32>) -> tensor<i32>
    %v68 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v69 = stablehlo.compare NE, %v67, %v68, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v70 = stablehlo.not %v69 : tensor<i1>
    %v71 = stablehlo.and %v51, %v70 : tensor<i1>
    %v72 = stablehlo.broadcast_in_dim %v71, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v73 = stablehlo.select %v72, %v65, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %v35, %v36, %v73 : tensor<4xf16>, tensor<4xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// sparse_softmax_cross_entropy_grad/float16[4 1]
module @sparse_softmax_cross_entropy_grad_float16_4_1_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x1xf16>, %arg1: tensor<4xi64>, %arg2: tensor<4xf16>, %arg3: tensor<4xf16>, %arg4: tensor<3xi32>) -> (tensor<4x1xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x1xf16>) -> tensor<4x1xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg2 : (tensor<4xf16>) -> tensor<4xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg3 : (tensor<4xf16>) -> tensor<4xf32> loc(#loc0)
    %v3 = stablehlo.broadcast_in_dim %v1, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32> loc(#loc0)
    %v4 = stablehlo.subtract %v0, %v3 : tensor<4x1xf32> loc(#loc0)
    %v5 = stablehlo.exponential %v4 : tensor<4x1xf32> loc(#loc0)
    %v6 = stablehlo.iota dim = 0 : tensor<1xi32> loc(#loc0)
    %v7 = stablehlo.constant dense<"0x0100000000000000"> : tensor<4xi64> loc(#loc0)
    %v8 = stablehlo.compare LT, %arg1, %v7, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1> loc(#loc0)
    %v9 = stablehlo.constant dense<"0x0000000000000000"> : tensor<4xi64> loc(#loc0)
    %v10 = stablehlo.compare GE, %arg1, %v9, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1> loc(#loc0)
    %v11 = stablehlo.and %v8, %v10 : tensor<4xi1> loc(#loc0)
    %v12 = stablehlo.maximum %arg1, %v9 : tensor<4xi64> loc(#loc0)
    %v13 = stablehlo.minimum %v12, %v9 : tensor<4xi64> loc(#loc0)
    %v14 = stablehlo.convert %v13 : (tensor<4xi64>) -> tensor<4xi32> loc(#loc0)
    %v15 = "stablehlo.gather"(%v6, %v14) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<1xi32>, tensor<4xi32>) -> (tensor<4xi32>) loc(#loc0)
    %v16 = stablehlo.iota dim = 1 : tensor<4x1xi32> loc(#loc0)
    %v17 = stablehlo.broadcast_in_dim %v15, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32> loc(#loc0)
    %v18 = stablehlo.compare EQ, %v16, %v17, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1> loc(#loc0)
    %v19 = stablehlo.convert %v18 : (tensor<4x1xi1>) -> tensor<4x1xf32> loc(#loc0)
    %v20 = stablehlo.subtract %v5, %v19 : tensor<4x1xf32> loc(#loc0)
    %v21 = stablehlo.broadcast_in_dim %v2, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32> loc(#loc0)
    %v22 = stablehlo.multiply %v20, %v21 : tensor<4x1xf32> loc(#loc0)
    %v23 = stablehlo.convert %v22 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    %v24 = stablehlo.constant dense<"0x00000080FFFFFFFF"> : tensor<4xi64>
    %v25 = stablehlo.constant dense<"0xFFFFFF7F00000000"> : tensor<4xi64>
    %v26 = stablehlo.minimum %v25, %arg1 : tensor<4xi64>
    %v27 = stablehlo.maximum %v24, %v26 : tensor<4xi64>
    %v28 = stablehlo.iota dim = 0 : tensor<4xi64>
    %v29 = stablehlo.constant dense<"0x0000000001000000"> : tensor<4xi64>
    %v30 = stablehlo.multiply %v28, %v29 : tensor<4xi64>
    %v31 = stablehlo.constant dense<"0x0000008000000000"> : tensor<4xi64>
    %v32 = stablehlo.add %v30, %v31 : tensor<4xi64>
    %v33 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<4xi64>
    %v34 = stablehlo.add %v32, %v27 : tensor<4xi64>
    %v35 = stablehlo.select %v11, %v33, %v34 : tensor<4xi1>, tensor<4xi64>
    %v36 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v40 = "stablehlo.reduce"(%v35, %v36) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v37: tensor<i64>, %v38: tensor<i64>):
      %v39 = stablehlo.minimum %v37, %v38 : tensor<i64>
      stablehlo.return %v39 : tensor<i64>
    }) : (tensor<4xi64>, tensor<i64>) -> (tensor<i64>)
    %v41 = stablehlo.compare NE, %v40, %v36, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v42 = stablehlo.constant dense<"0x2200000000000000"> : tensor<i64>
    %v43 = stablehlo.shift_right_logical %v40, %v42 : tensor<i64>
    %v44 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v45 = stablehlo.add %v43, %v44 : tensor<i64>
    %v46 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v47 = stablehlo.and %v40, %v46 : tensor<i64>
    %v48 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v49 = stablehlo.subtract %v47, %v48 : tensor<i64>
    %v50 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v51 = stablehlo.convert %v45 : (tensor<i64>) -> tensor<i32>
    %v52 = stablehlo.reshape %v51 : (tensor<i32>) -> tensor<1xi32>
    %v53 = stablehlo.convert %v49 : (tensor<i64>) -> tensor<i32>
    %v54 = stablehlo.reshape %v53 : (tensor<i32>) -> tensor<1xi32>
    %v55 = stablehlo.concatenate %v50, %v52, %v54, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v56 = "stablehlo.slice"(%arg4) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v57 = stablehlo.reshape %v56 : (tensor<1xi32>) -> tensor<i32>
    %v58 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v59 = stablehlo.compare NE, %v57, %v58, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v60 = stablehlo.not %v59 : tensor<i1>
    %v61 = stablehlo.and %v41, %v60 : tensor<i1>
    %v62 = stablehlo.broadcast_in_dim %v61, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v63 = stablehlo.select %v62, %v55, %arg4 : tensor<3xi1>, tensor<3xi32>
    return %v23, %v63 : tensor<4x1xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// dropout/float16[3 5 7] rate 0
module @dropout_float16_3_5_7__rate_0 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<3x5x7xf16>, %arg1: tensor<4xui32>, %arg2: tensor<3xi32>) -> (tensor<3x5x7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x05000000"> : tensor<ui32> loc(#loc0)
    %v1 = func.call @philox_27(%arg1, %v0) : (tensor<4xui32>, tensor<ui32>) -> tensor<108xui32> loc(#loc0)
    %v2 = "stablehlo.slice"(%v1) <{limit_indices = array<i64: 105>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<108xui32>) -> (tensor<105xui32>) loc(#loc0)
    %v3 = stablehlo.reshape %v2 : (tensor<105xui32>) -> tensor<3x5x7xui32> loc(#loc0)
    %v4 = stablehlo.constant dense<"0x08000000"> : tensor<3x5x7xui32> loc(#loc0)
    %v5 = stablehlo.shift_right_logical %v3, %v4 : tensor<3x5x7xui32> loc(#loc0)
    %v6 = stablehlo.constant dense<"0x00000000"> : tensor<3x5x7xui32> loc(#loc0)
    %v7 = stablehlo.compare GE, %v5, %v6, UNSIGNED : (tensor<3x5x7xui32>, tensor<3x5x7xui32>) -> tensor<3x5x7xi1> loc(#loc0)
    %v8 = stablehlo.constant dense<"0x003C"> : tensor<3x5x7xf16> loc(#loc0)
    %v9 = stablehlo.multiply %arg0, %v8 : tensor<3x5x7xf16> loc(#loc0)
    %v10 = stablehlo.constant dense<"0x0000"> : tensor<3x5x7xf16> loc(#loc0)
    %v11 = stablehlo.select %v7, %v9, %v10 : tensor<3x5x7xi1>, tensor<3x5x7xf16> loc(#loc0)
    return %v11, %arg2 : tensor<3x5x7xf16>, tensor<3xi32>
  }
  func.func private @philox_27(%state: tensor<4xui32>, %stream: tensor<ui32>) -> tensor<108xui32> {
    %v0 = "stablehlo.slice"(%state) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> (tensor<1xui32>)
    %v1 = stablehlo.reshape %v0 : (tensor<1xui32>) -> tensor<ui32>
    %v2 = stablehlo.broadcast_in_dim %v1, dims = [] : (tensor<ui32>) -> tensor<27xui32>
    %v3 = "stablehlo.slice"(%state) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> (tensor<1xui32>)
    %v4 = stablehlo.reshape %v3 : (tensor<1xui32>) -> tensor<ui32>
    %v5 = stablehlo.broadcast_in_dim %v4, dims = [] : (tensor<ui32>) -> tensor<27xui32>
    %v6 = stablehlo.iota dim = 0 : tensor<27xui32>
    %v7 = stablehlo.broadcast_in_dim %stream, dims = [] : (tensor<ui32>) -> tensor<27xui32>
    %v8 = "stablehlo.slice"(%state) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> (tensor<1xui32>)
    %v9 = stablehlo.reshape %v8 : (tensor<1xui32>) -> tensor<ui32>
    %v10 = stablehlo.broadcast_in_dim %v9, dims = [] : (tensor<ui32>) -> tensor<27xui32>
    %v11 = "stablehlo.slice"(%state) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> (tensor<1xui32>)
    %v12 = stablehlo.reshape %v11 : (tensor<1xui32>) -> tensor<ui32>
    %v13 = stablehlo.broadcast_in_dim %v12, dims = [] : (tensor<ui32>) -> tensor<27xui32>
    %v14 = stablehlo.constant dense<"0x531F51D2"> : tensor<27xui32>
    %v15 = stablehlo.constant dense<"0x578D9ECD"> : tensor<27xui32>
    %v16 = stablehlo.constant dense<"0xB979379E"> : tensor<27xui32>
    %v17 = stablehlo.constant dense<"0x85AE67BB"> : tensor<27xui32>
    %v18 = stablehlo.convert %v6 : (tensor<27xui32>) -> tensor<27xui64>
    %v19 = stablehlo.convert %v14 : (tensor<27xui32>) -> tensor<27xui64>
    %v20 = stablehlo.multiply %v18, %v19 : tensor<27xui64>
    %v21 = stablehlo.multiply %v6, %v14 : tensor<27xui32>
    %v22 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v23 = stablehlo.shift_right_logical %v20, %v22 : tensor<27xui64>
    %v24 = stablehlo.convert %v23 : (tensor<27xui64>) -> tensor<27xui32>
    %v25 = stablehlo.convert %v10 : (tensor<27xui32>) -> tensor<27xui64>
    %v26 = stablehlo.convert %v15 : (tensor<27xui32>) -> tensor<27xui64>
    %v27 = stablehlo.multiply %v25, %v26 : tensor<27xui64>
    %v28 = stablehlo.multiply %v10, %v15 : tensor<27xui32>
    %v29 = stablehlo.shift_right_logical %v27, %v22 : tensor<27xui64>
    %v30 = stablehlo.convert %v29 : (tensor<27xui64>) -> tensor<27xui32>
    %v31 = stablehlo.xor %v30, %v7 : tensor<27xui32>
    %v32 = stablehlo.xor %v31, %v2 : tensor<27xui32>
    %v33 = stablehlo.xor %v24, %v13 : tensor<27xui32>
    %v34 = stablehlo.xor %v33, %v5 : tensor<27xui32>
    %v35 = stablehlo.add %v2, %v16 : tensor<27xui32>
    %v36 = stablehlo.add %v5, %v17 : tensor<27xui32>
    %v37 = stablehlo.convert %v32 : (tensor<27xui32>) -> tensor<27xui64>
    %v38 = stablehlo.multiply %v37, %v19 : tensor<27xui64>
    %v39 = stablehlo.multiply %v32, %v14 : tensor<27xui32>
    %v40 = stablehlo.shift_right_logical %v38, %v22 : tensor<27xui64>
    %v41 = stablehlo.convert %v40 : (tensor<27xui64>) -> tensor<27xui32>
    %v42 = stablehlo.convert %v34 : (tensor<27xui32>) -> tensor<27xui64>
    %v43 = stablehlo.multiply %v42, %v26 : tensor<27xui64>
    %v44 = stablehlo.multiply %v34, %v15 : tensor<27xui32>
    %v45 = stablehlo.shift_right_logical %v43, %v22 : tensor<27xui64>
    %v46 = stablehlo.convert %v45 : (tensor<27xui64>) -> tensor<27xui32>
    %v47 = stablehlo.xor %v46, %v28 : tensor<27xui32>
    %v48 = stablehlo.xor %v47, %v35 : tensor<27xui32>
    %v49 = stablehlo.xor %v41, %v21 : tensor<27xui32>
    %v50 = stablehlo.xor %v49, %v36 : tensor<27xui32>
    %v51 = stablehlo.add %v35, %v16 : tensor<27xui32>
    %v52 = stablehlo.add %v36, %v17 : tensor<27xui32>
    %v53 = stablehlo.convert %v48 : (tensor<27xui32>) -> tensor<27xui64>
    %v54 = stablehlo.multiply %v53, %v19 : tensor<27xui64>
    %v55 = stablehlo.multiply %v48, %v14 : tensor<27xui32>
    %v56 = stablehlo.shift_right_logical %v54, %v22 : tensor<27xui64>
    %v57 = stablehlo.convert %v56 : (tensor<27xui64>) -> tensor<27xui32>
    %v58 = stablehlo.convert %v50 : (tensor<27xui32>) -> tensor<27xui64>
    %v59 = stablehlo.multiply %v58, %v26 : tensor<27xui64>
    %v60 = stablehlo.multiply %v50, %v15 : tensor<27xui32>
    %v61 = stablehlo.shift_right_logical %v59, %v22 : tensor<27xui64>
    %v62 = stablehlo.convert %v61 : (tensor<27xui64>) -> tensor<27xui32>
    %v63 = stablehlo.xor %v62, %v44 : tensor<27xui32>
    %v64 = stablehlo.xor %v63, %v51 : tensor<27xui32>
    %v65 = stablehlo.xor %v57, %v39 : tensor<27xui32>
    %v66 = stablehlo.xor %v65, %v52 : tensor<27xui32>
    %v67 = stablehlo.add %v51, %v16 : tensor<27xui32>
    %v68 = stablehlo.add %v52, %v17 : tensor<27xui32>
    %v69 = stablehlo.convert %v64 : (tensor<27xui32>) -> tensor<27xui64>
    %v70 = stablehlo.multiply %v69, %v19 : tensor<27xui64>
    %v71 = stablehlo.multiply %v64, %v14 : tensor<27xui32>
    %v72 = stablehlo.shift_right_logical %v70, %v22 : tensor<27xui64>
    %v73 = stablehlo.convert %v72 : (tensor<27xui64>) -> tensor<27xui32>
    %v74 = stablehlo.convert %v66 : (tensor<27xui32>) -> tensor<27xui64>
    %v75 = stablehlo.multiply %v74, %v26 : tensor<27xui64>
    %v76 = stablehlo.multiply %v66, %v15 : tensor<27xui32>
    %v77 = stablehlo.shift_right_logical %v75, %v22 : tensor<27xui64>
    %v78 = stablehlo.convert %v77 : (tensor<27xui64>) -> tensor<27xui32>
    %v79 = stablehlo.xor %v78, %v60 : tensor<27xui32>
    %v80 = stablehlo.xor %v79, %v67 : tensor<27xui32>
    %v81 = stablehlo.xor %v73, %v55 : tensor<27xui32>
    %v82 = stablehlo.xor %v81, %v68 : tensor<27xui32>
    %v83 = stablehlo.add %v67, %v16 : tensor<27xui32>
    %v84 = stablehlo.add %v68, %v17 : tensor<27xui32>
    %v85 = stablehlo.convert %v80 : (tensor<27xui32>) -> tensor<27xui64>
    %v86 = stablehlo.multiply %v85, %v19 : tensor<27xui64>
    %v87 = stablehlo.multiply %v80, %v14 : tensor<27xui32>
    %v88 = stablehlo.shift_right_logical %v86, %v22 : tensor<27xui64>
    %v89 = stablehlo.convert %v88 : (tensor<27xui64>) -> tensor<27xui32>
    %v90 = stablehlo.convert %v82 : (tensor<27xui32>) -> tensor<27xui64>
    %v91 = stablehlo.multiply %v90, %v26 : tensor<27xui64>
    %v92 = stablehlo.multiply %v82, %v15 : tensor<27xui32>
    %v93 = stablehlo.shift_right_logical %v91, %v22 : tensor<27xui64>
    %v94 = stablehlo.convert %v93 : (tensor<27xui64>) -> tensor<27xui32>
    %v95 = stablehlo.xor %v94, %v76 : tensor<27xui32>
    %v96 = stablehlo.xor %v95, %v83 : tensor<27xui32>
    %v97 = stablehlo.xor %v89, %v71 : tensor<27xui32>
    %v98 = stablehlo.xor %v97, %v84 : tensor<27xui32>
    %v99 = stablehlo.add %v83, %v16 : tensor<27xui32>
    %v100 = stablehlo.add %v84, %v17 : tensor<27xui32>
    %v101 = stablehlo.convert %v96 : (tensor<27xui32>) -> tensor<27xui64>
    %v102 = stablehlo.multiply %v101, %v19 : tensor<27xui64>
    %v103 = stablehlo.multiply %v96, %v14 : tensor<27xui32>
    %v104 = stablehlo.shift_right_logical %v102, %v22 : tensor<27xui64>
    %v105 = stablehlo.convert %v104 : (tensor<27xui64>) -> tensor<27xui32>
    %v106 = stablehlo.convert %v98 : (tensor<27xui32>) -> tensor<27xui64>
    %v107 = stablehlo.multiply %v106, %v26 : tensor<27xui64>
    %v108 = stablehlo.multiply %v98, %v15 : tensor<27xui32>
    %v109 = stablehlo.shift_right_logical %v107, %v22 : tensor<27xui64>
    %v110 = stablehlo.convert %v109 : (tensor<27xui64>) -> tensor<27xui32>
    %v111 = stablehlo.xor %v110, %v92 : tensor<27xui32>
    %v112 = stablehlo.xor %v111, %v99 : tensor<27xui32>
    %v113 = stablehlo.xor %v105, %v87 : tensor<27xui32>
    %v114 = stablehlo.xor %v113, %v100 : tensor<27xui32>
    %v115 = stablehlo.add %v99, %v16 : tensor<27xui32>
    %v116 = stablehlo.add %v100, %v17 : tensor<27xui32>
    %v117 = stablehlo.convert %v112 : (tensor<27xui32>) -> tensor<27xui64>
    %v118 = stablehlo.multiply %v117, %v19 : tensor<27xui64>
    %v119 = stablehlo.multiply %v112, %v14 : tensor<27xui32>
    %v120 = stablehlo.shift_right_logical %v118, %v22 : tensor<27xui64>
    %v121 = stablehlo.convert %v120 : (tensor<27xui64>) -> tensor<27xui32>
    %v122 = stablehlo.convert %v114 : (tensor<27xui32>) -> tensor<27xui64>
    %v123 = stablehlo.multiply %v122, %v26 : tensor<27xui64>
    %v124 = stablehlo.multiply %v114, %v15 : tensor<27xui32>
    %v125 = stablehlo.shift_right_logical %v123, %v22 : tensor<27xui64>
    %v126 = stablehlo.convert %v125 : (tensor<27xui64>) -> tensor<27xui32>
    %v127 = stablehlo.xor %v126, %v108 : tensor<27xui32>
    %v128 = stablehlo.xor %v127, %v115 : tensor<27xui32>
    %v129 = stablehlo.xor %v121, %v103 : tensor<27xui32>
    %v130 = stablehlo.xor %v129, %v116 : tensor<27xui32>
    %v131 = stablehlo.add %v115, %v16 : tensor<27xui32>
    %v132 = stablehlo.add %v116, %v17 : tensor<27xui32>
    %v133 = stablehlo.convert %v128 : (tensor<27xui32>) -> tensor<27xui64>
    %v134 = stablehlo.multiply %v133, %v19 : tensor<27xui64>
    %v135 = stablehlo.multiply %v128, %v14 : tensor<27xui32>
    %v136 = stablehlo.shift_right_logical %v134, %v22 : tensor<27xui64>
    %v137 = stablehlo.convert %v136 : (tensor<27xui64>) -> tensor<27xui32>
    %v138 = stablehlo.convert %v130 : (tensor<27xui32>) -> tensor<27xui64>
    %v139 = stablehlo.multiply %v138, %v26 : tensor<27xui64>
    %v140 = stablehlo.multiply %v130, %v15 : tensor<27xui32>
    %v141 = stablehlo.shift_right_logical %v139, %v22 : tensor<27xui64>
    %v142 = stablehlo.convert %v141 : (tensor<27xui64>) -> tensor<27xui32>
    %v143 = stablehlo.xor %v142, %v124 : tensor<27xui32>
    %v144 = stablehlo.xor %v143, %v131 : tensor<27xui32>
    %v145 = stablehlo.xor %v137, %v119 : tensor<27xui32>
    %v146 = stablehlo.xor %v145, %v132 : tensor<27xui32>
    %v147 = stablehlo.add %v131, %v16 : tensor<27xui32>
    %v148 = stablehlo.add %v132, %v17 : tensor<27xui32>
    %v149 = stablehlo.convert %v144 : (tensor<27xui32>) -> tensor<27xui64>
    %v150 = stablehlo.multiply %v149, %v19 : tensor<27xui64>
    %v151 = stablehlo.multiply %v144, %v14 : tensor<27xui32>
    %v152 = stablehlo.shift_right_logical %v150, %v22 : tensor<27xui64>
    %v153 = stablehlo.convert %v152 : (tensor<27xui64>) -> tensor<27xui32>
    %v154 = stablehlo.convert %v146 : (tensor<27xui32>) -> tensor<27xui64>
    %v155 = stablehlo.multiply %v154, %v26 : tensor<27xui64>
    %v156 = stablehlo.multiply %v146, %v15 : tensor<27xui32>
    %v157 = stablehlo.shift_right_logical %v155, %v22 : tensor<27xui64>
    %v158 = stablehlo.convert %v157 : (tensor<27xui64>) -> tensor<27xui32>
    %v159 = stablehlo.xor %v158, %v140 : tensor<27xui32>
    %v160 = stablehlo.xor %v159, %v147 : tensor<27xui32>
    %v161 = stablehlo.xor %v153, %v135 : tensor<27xui32>
    %v162 = stablehlo.xor %v161, %v148 : tensor<27xui32>
    %v163 = stablehlo.add %v147, %v16 : tensor<27xui32>
    %v164 = stablehlo.add %v148, %v17 : tensor<27xui32>
    %v165 = stablehlo.convert %v160 : (tensor<27xui32>) -> tensor<27xui64>
    %v166 = stablehlo.multiply %v165, %v19 : tensor<27xui64>
    %v167 = stablehlo.multiply %v160, %v14 : tensor<27xui32>
    %v168 = stablehlo.shift_right_logical %v166, %v22 : tensor<27xui64>
    %v169 = stablehlo.convert %v168 : (tensor<27xui64>) -> tensor<27xui32>
    %v170 = stablehlo.convert %v162 : (tensor<27xui32>) -> tensor<27xui64>
    %v171 = stablehlo.multiply %v170, %v26 : tensor<27xui64>
    %v172 = stablehlo.multiply %v162, %v15 : tensor<27xui32>
    %v173 = stablehlo.shift_right_logical %v171, %v22 : tensor<27xui64>
    %v174 = stablehlo.convert %v173 : (tensor<27xui64>) -> tensor<27xui32>
    %v175 = stablehlo.xor %v174, %v156 : tensor<27xui32>
    %v176 = stablehlo.xor %v175, %v163 : tensor<27xui32>
    %v177 = stablehlo.xor %v169, %v151 : tensor<27xui32>
    %v178 = stablehlo.xor %v177, %v164 : tensor<27xui32>
    %v179 = stablehlo.add %v163, %v16 : tensor<27xui32>
    %v180 = stablehlo.add %v164, %v17 : tensor<27xui32>
    %v181 = stablehlo.reshape %v176 : (tensor<27xui32>) -> tensor<27x1xui32>
    %v182 = stablehlo.reshape %v172 : (tensor<27xui32>) -> tensor<27x1xui32>
    %v183 = stablehlo.reshape %v178 : (tensor<27xui32>) -> tensor<27x1xui32>
    %v184 = stablehlo.reshape %v167 : (tensor<27xui32>) -> tensor<27x1xui32>
    %v185 = stablehlo.concatenate %v181, %v182, %v183, %v184, dim = 1 : (tensor<27x1xui32>, tensor<27x1xui32>, tensor<27x1xui32>, tensor<27x1xui32>) -> tensor<27x4xui32>
    %v186 = stablehlo.reshape %v185 : (tensor<27x4xui32>) -> tensor<108xui32>
    return %v186 : tensor<108xui32>
  }
}
#loc0 = loc("layer")

// attention/float16 plain
module @attention_float16_plain attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x2x4xf16>, %arg1: tensor<2x5x2x4xf16>, %arg2: tensor<2x5x2x3xf16>, %arg3: tensor<3xi32>) -> (tensor<2x3x2x3xf16>, tensor<2x2x3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<2x3x2x4xf16>) -> tensor<2x3x2x4xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<2x5x2x4xf16>) -> tensor<2x5x2x4xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<2x5x2x3xf16>) -> tensor<2x5x2x3xf32> loc(#loc0)
    %v3 = stablehlo.dot_general %v0, %v1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [HIGHEST, HIGHEST] : (tensor<2x3x2x4xf32>, tensor<2x5x2x4xf32>) -> tensor<2x2x3x5xf32> loc(#loc0)
    %v4 = stablehlo.constant dense<"0x0000003F"> : tensor<2x2x3x5xf32> loc(#loc0)
    %v5 = stablehlo.multiply %v3, %v4 : tensor<2x2x3x5xf32> loc(#loc0)
    %v6 = stablehlo.constant dense<"0x000080FF"> : tensor<f32> loc(#loc0)
    %v10 = "stablehlo.reduce"(%v5, %v6) <{dimensions = array<i64: 3>}> ({
    ^bb0(%v7: tensor<f32>, %v8: tensor<f32>):
      %v9 = stablehlo.maximum %v7, %v8 : tensor<f32> loc(#loc0)
      stablehlo.return %v9 : tensor<f32>
    }) : (tensor<2x2x3x5xf32>, tensor<f32>) -> (tensor<2x2x3xf32>) loc(#loc0)
    %v11 = stablehlo.constant dense<"0x000080FF"> : tensor<2x2x3xf32> loc(#loc0)
    %v12 = stablehlo.compare EQ, %v10, %v11, FLOAT : (tensor<2x2x3xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xi1> loc(#loc0)
    %v13 = stablehlo.constant dense<"0x00000000"> : tensor<2x2x3xf32> loc(#loc0)
    %v14 = stablehlo.select %v12, %v13, %v10 : tensor<2x2x3xi1>, tensor<2x2x3xf32> loc(#loc0)
    %v15 = stablehlo.broadcast_in_dim %v14, dims = [0, 1, 2] : (tensor<2x2x3xf32>) -> tensor<2x2x3x5xf32> loc(#loc0)
    %v16 = stablehlo.subtract %v5, %v15 : tensor<2x2x3x5xf32> loc(#loc0)
    %v17 = stablehlo.exponential %v16 : tensor<2x2x3x5xf32> loc(#loc0)
    %v18 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v22 = "stablehlo.reduce"(%v17, %v18) <{dimensions = array<i64: 3>}> ({
    ^bb0(%v19: tensor<f32>, %v20: tensor<f32>):
      %v21 = stablehlo.add %v19, %v20 : tensor<f32> loc(#loc0)
      stablehlo.return %v21 : tensor<f32>
    }) : (tensor<2x2x3x5xf32>, tensor<f32>) -> (tensor<2x2x3xf32>) loc(#loc0)
    %v23 = stablehlo.log %v22 : tensor<2x2x3xf32> loc(#loc0)
    %v24 = stablehlo.add %v14, %v23 : tensor<2x2x3xf32> loc(#loc0)
    %v25 = stablehlo.compare EQ, %v22, %v13, FLOAT : (tensor<2x2x3xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xi1> loc(#loc0)
    %v26 = stablehlo.constant dense<"0x0000803F"> : tensor<2x2x3xf32> loc(#loc0)
    %v27 = stablehlo.select %v25, %v26, %v22 : tensor<2x2x3xi1>, tensor<2x2x3xf32> loc(#loc0)
    %v28 = stablehlo.broadcast_in_dim %v27, dims = [0, 1, 2] : (tensor<2x2x3xf32>) -> tensor<2x2x3x5xf32> loc(#loc0)
    %v29 = stablehlo.divide %v17, %v28 : tensor<2x2x3x5xf32> loc(#loc0)
    %v30 = stablehlo.dot_general %v29, %v2, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x2x3x5xf32>, tensor<2x5x2x3xf32>) -> tensor<2x2x3x3xf32> loc(#loc0)
    %v31 = stablehlo.transpose %v30, dims = [0, 2, 1, 3] : (tensor<2x2x3x3xf32>) -> tensor<2x3x2x3xf32> loc(#loc0)
    %v32 = stablehlo.convert %v31 : (tensor<2x3x2x3xf32>) -> tensor<2x3x2x3xf16> loc(#loc0)
    %v33 = stablehlo.convert %v24 : (tensor<2x2x3xf32>) -> tensor<2x2x3xf16> loc(#loc0)
    return %v32, %v33, %arg3 : tensor<2x3x2x3xf16>, tensor<2x2x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// attention_grad/float16 plain
module @attention_grad_float16_plain attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x2x4xf16>, %arg1: tensor<2x5x2x4xf16>, %arg2: tensor<2x5x2x3xf16>, %arg3: tensor<2x3x2x3xf16>, %arg4: tensor<2x2x3xf16>, %arg5: tensor<2x3x2x3xf16>, %arg6: tensor<3xi32>) -> (tensor<2x3x2x4xf16>, tensor<2x5x2x4xf16>, tensor<2x5x2x3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<2x3x2x4xf16>) -> tensor<2x3x2x4xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<2x5x2x4xf16>) -> tensor<2x5x2x4xf32> loc(#loc0)
    %v2 = stablehlo.convert %arg2 : (tensor<2x5x2x3xf16>) -> tensor<2x5x2x3xf32> loc(#loc0)
    %v3 = stablehlo.convert %arg3 : (tensor<2x3x2x3xf16>) -> tensor<2x3x2x3xf32> loc(#loc0)
    %v4 = stablehlo.convert %arg4 : (tensor<2x2x3xf16>) -> tensor<2x2x3xf32> loc(#loc0)
    %v5 = stablehlo.convert %arg5 : (tensor<2x3x2x3xf16>) -> tensor<2x3x2x3xf32> loc(#loc0)
    %v6 = stablehlo.dot_general %v0, %v1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [HIGHEST, HIGHEST] : (tensor<2x3x2x4xf32>, tensor<2x5x2x4xf32>) -> tensor<2x2x3x5xf32> loc(#loc0)
    %v7 = stablehlo.constant dense<"0x0000003F"> : tensor<2x2x3x5xf32> loc(#loc0)
    %v8 = stablehlo.multiply %v6, %v7 : tensor<2x2x3x5xf32> loc(#loc0)
    %v9 = stablehlo.constant dense<"0x000080FF"> : tensor<2x2x3xf32> loc(#loc0)
    %v10 = stablehlo.compare EQ, %v4, %v9, FLOAT : (tensor<2x2x3xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xi1> loc(#loc0)
    %v11 = stablehlo.constant dense<"0x00000000"> : tensor<2x2x3xf32> loc(#loc0)
    %v12 = stablehlo.select %v10, %v11, %v4 : tensor<2x2x3xi1>, tensor<2x2x3xf32> loc(#loc0)
    %v13 = stablehlo.broadcast_in_dim %v12, dims = [0, 1, 2] : (tensor<2x2x3xf32>) -> tensor<2x2x3x5xf32> loc(#loc0)
    %v14 = stablehlo.subtract %v8, %v13 : tensor<2x2x3x5xf32> loc(#loc0)
    %v15 = stablehlo.exponential %v14 : tensor<2x2x3x5xf32> loc(#loc0)
    %v16 = stablehlo.dot_general %v5, %v2, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [HIGHEST, HIGHEST] : (tensor<2x3x2x3xf32>, tensor<2x5x2x3xf32>) -> tensor<2x2x3x5xf32> loc(#loc0)
    %v17 = stablehlo.multiply %v3, %v5 : tensor<2x3x2x3xf32> loc(#loc0)
    %v18 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v22 = "stablehlo.reduce"(%v17, %v18) <{dimensions = array<i64: 3>}> ({
    ^bb0(%v19: tensor<f32>, %v20: tensor<f32>):
      %v21 = stablehlo.add %v19, %v20 : tensor<f32> loc(#loc0)
      stablehlo.return %v21 : tensor<f32>
    }) : (tensor<2x3x2x3xf32>, tensor<f32>) -> (tensor<2x3x2xf32>) loc(#loc0)
    %v23 = stablehlo.transpose %v22, dims = [0, 2, 1] : (tensor<2x3x2xf32>) -> tensor<2x2x3xf32> loc(#loc0)
    %v24 = stablehlo.broadcast_in_dim %v23, dims = [0, 1, 2] : (tensor<2x2x3xf32>) -> tensor<2x2x3x5xf32> loc(#loc0)
    %v25 = stablehlo.subtract %v16, %v24 : tensor<2x2x3x5xf32> loc(#loc0)
    %v26 = stablehlo.multiply %v15, %v25 : tensor<2x2x3x5xf32> loc(#loc0)
    %v27 = stablehlo.multiply %v26, %v7 : tensor<2x2x3x5xf32> loc(#loc0)
    %v28 = stablehlo.dot_general %v27, %v1, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x2x3x5xf32>, tensor<2x5x2x4xf32>) -> tensor<2x2x3x4xf32> loc(#loc0)
    %v29 = stablehlo.transpose %v28, dims = [0, 2, 1, 3] : (tensor<2x2x3x4xf32>) -> tensor<2x3x2x4xf32> loc(#loc0)
    %v30 = stablehlo.dot_general %v27, %v0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x2x3x5xf32>, tensor<2x3x2x4xf32>) -> tensor<2x2x5x4xf32> loc(#loc0)
    %v31 = stablehlo.transpose %v30, dims = [0, 2, 1, 3] : (tensor<2x2x5x4xf32>) -> tensor<2x5x2x4xf32> loc(#loc0)
    %v32 = stablehlo.dot_general %v15, %v5, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x2x3x5xf32>, tensor<2x3x2x3xf32>) -> tensor<2x2x5x3xf32> loc(#loc0)
    %v33 = stablehlo.transpose %v32, dims = [0, 2, 1, 3] : (tensor<2x2x5x3xf32>) -> tensor<2x5x2x3xf32> loc(#loc0)
    %v34 = stablehlo.convert %v29 : (tensor<2x3x2x4xf32>) -> tensor<2x3x2x4xf16> loc(#loc0)
    %v35 = stablehlo.convert %v31 : (tensor<2x5x2x4xf32>) -> tensor<2x5x2x4xf16> loc(#loc0)
    %v36 = stablehlo.convert %v33 : (tensor<2x5x2x3xf32>) -> tensor<2x5x2x3xf16> loc(#loc0)
    return %v34, %v35, %v36, %arg6 : tensor<2x3x2x4xf16>, tensor<2x5x2x4xf16>, tensor<2x5x2x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// resample/float16[5] axis 0 to 9 from 2
module @resample_float16_5__axis_0_to_9_from_2 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf16>, %arg1: tensor<3xi32>) -> (tensor<9xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<5xf16>) -> tensor<5xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x000000000300000003000000010000000100000001000000030000000300000000000000"> : tensor<9xui32> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x05000000"> : tensor<9xui32> loc(#loc0)
    %v3 = stablehlo.compare LT, %v1, %v2, UNSIGNED : (tensor<9xui32>, tensor<9xui32>) -> tensor<9xi1> loc(#loc0)
    %v4 = stablehlo.constant dense<"0x04000000"> : tensor<9xui32> loc(#loc0)
    %v5 = stablehlo.minimum %v1, %v4 : tensor<9xui32> loc(#loc0)
    %v6 = stablehlo.convert %v5 : (tensor<9xui32>) -> tensor<9xi32> loc(#loc0)
    %v7 = "stablehlo.gather"(%v0, %v6) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<9xi32>) -> (tensor<9xf32>) loc(#loc0)
    %v8 = stablehlo.constant dense<"0x6914863E976B05BFB708A6BD08EFD5BF92DCC9BFC377C13FD38E813ECDE6E9BFA3AA11BE"> : tensor<9xf32> loc(#loc0)
    %v9 = stablehlo.broadcast_in_dim %v8, dims = [0] : (tensor<9xf32>) -> tensor<9xf32> loc(#loc0)
    %v10 = stablehlo.multiply %v7, %v9 : tensor<9xf32> loc(#loc0)
    %v11 = stablehlo.constant dense<"0x020000000300000004000000040000000100000004000000010000000200000000000000"> : tensor<9xui32> loc(#loc0)
    %v12 = stablehlo.compare LT, %v11, %v2, UNSIGNED : (tensor<9xui32>, tensor<9xui32>) -> tensor<9xi1> loc(#loc0)
    %v13 = stablehlo.minimum %v11, %v4 : tensor<9xui32> loc(#loc0)
    %v14 = stablehlo.convert %v13 : (tensor<9xui32>) -> tensor<9xi32> loc(#loc0)
    %v15 = "stablehlo.gather"(%v0, %v14) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<9xi32>) -> (tensor<9xf32>) loc(#loc0)
    %v16 = stablehlo.constant dense<"0x84697D3E8E4A24BFF8972DBD4A1F09403133123F3D7791BF319441BEAE1C23BB41CBB1BC"> : tensor<9xf32> loc(#loc0)
    %v17 = stablehlo.broadcast_in_dim %v16, dims = [0] : (tensor<9xf32>) -> tensor<9xf32> loc(#loc0)
    %v18 = stablehlo.multiply %v15, %v17 : tensor<9xf32> loc(#loc0)
    %v19 = stablehlo.add %v10, %v18 : tensor<9xf32> loc(#loc0)
    %v20 = stablehlo.convert %v19 : (tensor<9xf32>) -> tensor<9xf16> loc(#loc0)
    return %v20, %arg1 : tensor<9xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// packed_dot/float16[1 4] by 2 in blocks of 0
module @packed_dot_float16_1_4__by_2_in_blocks_of_0 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<1x4xf16>, %arg1: tensor<4x1xi8>, %arg2: tensor<3xi32>) -> (tensor<1x2xf16>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x04"> : tensor<4x1xi8> loc(#loc0)
    %v1 = stablehlo.shift_left %arg1, %v0 : tensor<4x1xi8> loc(#loc0)
    %v2 = stablehlo.shift_right_arithmetic %v1, %v0 : tensor<4x1xi8> loc(#loc0)
    %v3 = stablehlo.shift_right_arithmetic %arg1, %v0 : tensor<4x1xi8> loc(#loc0)
    %v4 = stablehlo.reshape %v2 : (tensor<4x1xi8>) -> tensor<4x1x1xi8> loc(#loc0)
    %v5 = stablehlo.reshape %v3 : (tensor<4x1xi8>) -> tensor<4x1x1xi8> loc(#loc0)
    %v6 = stablehlo.concatenate %v4, %v5, dim = 2 : (tensor<4x1x1xi8>, tensor<4x1x1xi8>) -> tensor<4x1x2xi8> loc(#loc0)
    %v7 = stablehlo.reshape %v6 : (tensor<4x1x2xi8>) -> tensor<4x2xi8> loc(#loc0)
    %v8 = "stablehlo.slice"(%v7) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x2xi8>) -> (tensor<4x2xi8>) loc(#loc0)
    %v9 = stablehlo.convert %arg0 : (tensor<1x4xf16>) -> tensor<1x4xf32> loc(#loc0)
    %v10 = stablehlo.convert %v8 : (tensor<4x2xi8>) -> tensor<4x2xf32> loc(#loc0)
    %v11 = stablehlo.dot_general %v9, %v10, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32> loc(#loc0)
    %v12 = stablehlo.convert %v11 : (tensor<1x2xf32>) -> tensor<1x2xf16> loc(#loc0)
    return %v12, %arg2 : tensor<1x2xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// packed_embedding/float16 [4] of 3 x 7 of 4 bits in blocks of 0
module @packed_embedding_float16__4__of_3_x_7_of_4_bits_in_blocks_of_0 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xi8>, %arg1: tensor<4xi32>, %arg2: tensor<3xf16>, %arg3: tensor<3xi32>) -> (tensor<4x7xf16>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x03000000"> : tensor<4xi32> loc(#loc0)
    %v1 = stablehlo.compare LT, %arg1, %v0, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x00000000"> : tensor<4xi32> loc(#loc0)
    %v3 = stablehlo.compare GE, %arg1, %v2, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc0)
    %v4 = stablehlo.and %v1, %v3 : tensor<4xi1> loc(#loc0)
    %v5 = stablehlo.maximum %arg1, %v2 : tensor<4xi32> loc(#loc0)
    %v6 = stablehlo.constant dense<"0x02000000"> : tensor<4xi32> loc(#loc0)
    %v7 = stablehlo.minimum %v5, %v6 : tensor<4xi32> loc(#loc0)
    %v8 = "stablehlo.gather"(%arg0, %v7) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xi8>, tensor<4xi32>) -> (tensor<4x4xi8>) loc(#loc0)
    %v9 = "stablehlo.gather"(%arg2, %v7) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<3xf16>, tensor<4xi32>) -> (tensor<4xf16>) loc(#loc0)
    %v10 = stablehlo.convert %v9 : (tensor<4xf16>) -> tensor<4xf32> loc(#loc0)
    %v11 = stablehlo.constant dense<"0x04"> : tensor<4x4xi8> loc(#loc0)
    %v12 = stablehlo.shift_left %v8, %v11 : tensor<4x4xi8> loc(#loc0)
    %v13 = stablehlo.shift_right_arithmetic %v12, %v11 : tensor<4x4xi8> loc(#loc0)
    %v14 = stablehlo.shift_right_arithmetic %v8, %v11 : tensor<4x4xi8> loc(#loc0)
    %v15 = stablehlo.reshape %v13 : (tensor<4x4xi8>) -> tensor<4x4x1xi8> loc(#loc0)
    %v16 = stablehlo.reshape %v14 : (tensor<4x4xi8>) -> tensor<4x4x1xi8> loc(#loc0)
    %v17 = stablehlo.concatenate %v15, %v16, dim = 2 : (tensor<4x4x1xi8>, tensor<4x4x1xi8>) -> tensor<4x4x2xi8> loc(#loc0)
    %v18 = stablehlo.reshape %v17 : (tensor<4x4x2xi8>) -> tensor<4x8xi8> loc(#loc0)
    %v19 = "stablehlo.slice"(%v18) <{limit_indices = array<i64: 4, 7>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x8xi8>) -> (tensor<4x7xi8>) loc(#loc0)
    %v20 = stablehlo.convert %v19 : (tensor<4x7xi8>) -> tensor<4x7xf32> loc(#loc0)
    %v21 = stablehlo.constant dense<"0x0000803F"> : tensor<4xf32> loc(#loc0)
    %v22 = stablehlo.divide %v21, %v10 : tensor<4xf32> loc(#loc0)
    %v23 = stablehlo.broadcast_in_dim %v22, dims = [0] : (tensor<4xf32>) -> tensor<4x7xf32> loc(#loc0)
    %v24 = stablehlo.multiply %v20, %v23 : tensor<4x7xf32> loc(#loc0)
    %v25 = stablehlo.convert %v24 : (tensor<4x7xf32>) -> tensor<4x7xf16> loc(#loc0)
    %v26 = stablehlo.convert %arg1 : (tensor<4xi32>) -> tensor<4xi64>
    %v27 = stablehlo.iota dim = 0 : tensor<4xi64>
    %v28 = stablehlo.constant dense<"0x0000000001000000"> : tensor<4xi64>
    %v29 = stablehlo.multiply %v27, %v28 : tensor<4xi64>
    %v30 = stablehlo.constant dense<"0x0000008000000000"> : tensor<4xi64>
    %v31 = stablehlo.add %v29, %v30 : tensor<4xi64>
    %v32 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<4xi64>
    %v33 = stablehlo.add %v31, %v26 : tensor<4xi64>
    %v34 = stablehlo.select %v4, %v32, %v33 : tensor<4xi1>, tensor<4xi64>
    %v35 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v39 = "stablehlo.reduce"(%v34, %v35) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v36: tensor<i64>, %v37: tensor<i64>):
      %v38 = stablehlo.minimum %v36, %v37 : tensor<i64>
      stablehlo.return %v38 : tensor<i64>
    }) : (tensor<4xi64>, tensor<i64>) -> (tensor<i64>)
    %v40 = stablehlo.compare NE, %v39, %v35, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v41 = stablehlo.constant dense<"0x2200000000000000"> : tensor<i64>
    %v42 = stablehlo.shift_right_logical %v39, %v41 : tensor<i64>
    %v43 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v44 = stablehlo.add %v42, %v43 : tensor<i64>
    %v45 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v46 = stablehlo.and %v39, %v45 : tensor<i64>
    %v47 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v48 = stablehlo.subtract %v46, %v47 : tensor<i64>
    %v49 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v50 = stablehlo.convert %v44 : (tensor<i64>) -> tensor<i32>
    %v51 = stablehlo.reshape %v50 : (tensor<i32>) -> tensor<1xi32>
    %v52 = stablehlo.convert %v48 : (tensor<i64>) -> tensor<i32>
    %v53 = stablehlo.reshape %v52 : (tensor<i32>) -> tensor<1xi32>
    %v54 = stablehlo.concatenate %v49, %v51, %v53, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v55 = "stablehlo.slice"(%arg3) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v56 = stablehlo.reshape %v55 : (tensor<1xi32>) -> tensor<i32>
    %v57 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v58 = stablehlo.compare NE, %v56, %v57, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v59 = stablehlo.not %v58 : tensor<i1>
    %v60 = stablehlo.and %v40, %v59 : tensor<i1>
    %v61 = stablehlo.broadcast_in_dim %v60, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v62 = stablehlo.select %v61, %v54, %arg3 : tensor<3xi1>, tensor<3xi32>
    return %v25, %v62 : tensor<4x7xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// eliminate/float16[4 7 7] of [4 7 3]
module @eliminate_float16_4_7_7__of__4_7_3_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x7x7xf16>, %arg1: tensor<4x7x3xf16>, %arg2: tensor<3xi32>) -> (tensor<4x7x3xf16>, tensor<4xf16>, tensor<4xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<4x7x7xf16>) -> tensor<4x7x7xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<4x7x3xf16>) -> tensor<4x7x3xf32> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x0000803F"> : tensor<4xf32> loc(#loc0)
    %v3 = stablehlo.concatenate %v0, %v1, dim = 2 : (tensor<4x7x7xf32>, tensor<4x7x3xf32>) -> tensor<4x7x10xf32> loc(#loc0)
    %v4 = stablehlo.iota dim = 0 : tensor<7xi32> loc(#loc0)
    %v5 = stablehlo.constant dense<"0x00000000"> : tensor<4xf32> loc(#loc0)
    %v6 = stablehlo.constant dense<"0x00000000"> : tensor<i32> loc(#loc0)
    %v111:5 = "stablehlo.while"(%v6, %v3, %v2, %v5, %v4) ({
    ^bb0(%v7: tensor<i32>, %v8: tensor<4x7x10xf32>, %v9: tensor<4xf32>, %v10: tensor<4xf32>, %v11: tensor<7xi32>):
      %v12 = stablehlo.constant dense<"0x07000000"> : tensor<i32> loc(#loc0)
      %v13 = stablehlo.compare LT, %v7, %v12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> loc(#loc0)
      stablehlo.return %v13 : tensor<i1>
    }, {
    ^bb0(%v14: tensor<i32>, %v15: tensor<4x7x10xf32>, %v16: tensor<4xf32>, %v17: tensor<4xf32>, %v18: tensor<7xi32>):
      %v19 = stablehlo.constant dense<"0x00000000"> : tensor<i32> loc(#loc0)
      %v20 = "stablehlo.dynamic_slice"(%v18, %v14) <{slice_sizes = array<i64: 1>}> : (tensor<7xi32>, tensor<i32>) -> (tensor<1xi32>) loc(#loc0)
      %v21 = stablehlo.reshape %v20 : (tensor<1xi32>) -> tensor<i32> loc(#loc0)
      %v22 = stablehlo.iota dim = 0 : tensor<7xi32> loc(#loc0)
      %v23 = stablehlo.broadcast_in_dim %v22, dims = [1] : (tensor<7xi32>) -> tensor<4x7xi32> loc(#loc0)
      %v24 = stablehlo.broadcast_in_dim %v21, dims = [] : (tensor<i32>) -> tensor<4x7xi32> loc(#loc0)
      %v25 = "stablehlo.slice"(%v15) <{limit_indices = array<i64: 4, 7, 7>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x7x10xf32>) -> (tensor<4x7x7xf32>) loc(#loc0)
      %v26 = stablehlo.compare EQ, %v23, %v24, SIGNED : (tensor<4x7xi32>, tensor<4x7xi32>) -> tensor<4x7xi1> loc(#loc0)
      %v27 = stablehlo.broadcast_in_dim %v26, dims = [0, 2] : (tensor<4x7xi1>) -> tensor<4x7x7xi1> loc(#loc0)
      %v28 = stablehlo.constant dense<"0x00000000"> : tensor<4x7x7xf32> loc(#loc0)
      %v29 = stablehlo.select %v27, %v25, %v28 : tensor<4x7x7xi1>, tensor<4x7x7xf32> loc(#loc0)
      %v30 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
      %v34 = "stablehlo.reduce"(%v29, %v30) <{dimensions = array<i64: 2>}> ({
      ^bb0(%v31: tensor<f32>, %v32: tensor<f32>):
        %v33 = stablehlo.add %v31, %v32 : tensor<f32> loc(#loc0)
        stablehlo.return %v33 : tensor<f32>
      }) : (tensor<4x7x7xf32>, tensor<f32>) -> (tensor<4x7xf32>) loc(#loc0)
      %v35 = stablehlo.constant dense<"0x00000000"> : tensor<4x7xf32> loc(#loc0)
      %v36 = stablehlo.compare LT, %v23, %v24, SIGNED : (tensor<4x7xi32>, tensor<4x7xi32>) -> tensor<4x7xi1> loc(#loc0)
      %v37 = stablehlo.constant dense<"0x000080BF"> : tensor<4x7xf32> loc(#loc0)
      %v38 = stablehlo.abs %v34 : tensor<4x7xf32> loc(#loc0)
      %v39 = stablehlo.select %v36, %v37, %v38 : tensor<4x7xi1>, tensor<4x7xf32> loc(#loc0)
      %v40 = stablehlo.iota dim = 1 : tensor<4x7xi32> loc(#loc0)
      %v41 = stablehlo.constant dense<"0x000080FF"> : tensor<f32> loc(#loc0)
      %v42 = stablehlo.constant dense<"0xFFFFFF7F"> : tensor<i32> loc(#loc0)
      %v61:2 = "stablehlo.reduce"(%v39, %v40, %v41, %v42) <{dimensions = array<i64: 1>}> ({
      ^bb0(%v43: tensor<f32>, %v44: tensor<i32>, %v45: tensor<f32>, %v46: tensor<i32>):
        %v47 = stablehlo.compare GT, %v43, %v45, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> loc(#loc0)
        %v48 = stablehlo.compare EQ, %v43, %v45, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> loc(#loc0)
        %v49 = stablehlo.compare NE, %v43, %v43, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> loc(#loc0)
        %v50 = stablehlo.compare NE, %v45, %v45, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> loc(#loc0)
        %v51 = stablehlo.not %v50 : tensor<i1> loc(#loc0)
        %v52 = stablehlo.and %v49, %v51 : tensor<i1> loc(#loc0)
        %v53 = stablehlo.or %v47, %v52 : tensor<i1> loc(#loc0)
        %v54 = stablehlo.and %v49, %v50 : tensor<i1> loc(#loc0)
        %v55 = stablehlo.or %v48, %v54 : tensor<i1> loc(#loc0)
        %v56 = stablehlo.compare LT, %v44, %v46, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> loc(#loc0)
        %v57 = stablehlo.and %v55, %v56 : tensor<i1> loc(#loc0)
        %v58 = stablehlo.or %v53, %v57 : tensor<i1> loc(#loc0)
        %v59 = stablehlo.select %v58, %v43, %v45 : tensor<i1>, tensor<f32> loc(#loc0)
        %v60 = stablehlo.select %v58, %v44, %v46 : tensor<i1>, tensor<i32> loc(#loc0)
        stablehlo.return %v59, %v60 : tensor<f32>, tensor<i32>
      }) : (tensor<4x7xf32>, tensor<4x7xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>) loc(#loc0)
      %v62 = stablehlo.broadcast_in_dim %v61#1, dims = [0] : (tensor<4xi32>) -> tensor<4x7xi32> loc(#loc0)
      %v63 = stablehlo.compare EQ, %v23, %v62, SIGNED : (tensor<4x7xi32>, tensor<4x7xi32>) -> tensor<4x7xi1> loc(#loc0)
      %v64 = stablehlo.select %v63, %v34, %v35 : tensor<4x7xi1>, tensor<4x7xf32> loc(#loc0)
      %v68 = "stablehlo.reduce"(%v64, %v30) <{dimensions = array<i64: 1>}> ({
      ^bb0(%v65: tensor<f32>, %v66: tensor<f32>):
        %v67 = stablehlo.add %v65, %v66 : tensor<f32> loc(#loc0)
        stablehlo.return %v67 : tensor<f32>
      }) : (tensor<4x7xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
      %v69 = stablehlo.broadcast_in_dim %v21, dims = [] : (tensor<i32>) -> tensor<4xi32> loc(#loc0)
      %v70 = stablehlo.compare NE, %v61#1, %v69, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc0)
      %v71 = stablehlo.sign %v68 : tensor<4xf32> loc(#loc0)
      %v72 = stablehlo.constant dense<"0x000080BF"> : tensor<4xf32> loc(#loc0)
      %v73 = stablehlo.constant dense<"0x0000803F"> : tensor<4xf32> loc(#loc0)
      %v74 = stablehlo.select %v70, %v72, %v73 : tensor<4xi1>, tensor<4xf32> loc(#loc0)
      %v75 = stablehlo.multiply %v71, %v74 : tensor<4xf32> loc(#loc0)
      %v76 = stablehlo.multiply %v16, %v75 : tensor<4xf32> loc(#loc0)
      %v77 = stablehlo.abs %v68 : tensor<4xf32> loc(#loc0)
      %v78 = stablehlo.log %v77 : tensor<4xf32> loc(#loc0)
      %v79 = stablehlo.add %v17, %v78 : tensor<4xf32> loc(#loc0)
      %v80 = stablehlo.broadcast_in_dim %v63, dims = [0, 1] : (tensor<4x7xi1>) -> tensor<4x7x10xi1> loc(#loc0)
      %v81 = stablehlo.constant dense<"0x00000000"> : tensor<4x7x10xf32> loc(#loc0)
      %v82 = stablehlo.select %v80, %v15, %v81 : tensor<4x7x10xi1>, tensor<4x7x10xf32> loc(#loc0)
      %v86 = "stablehlo.reduce"(%v82, %v30) <{dimensions = array<i64: 1>}> ({
      ^bb0(%v83: tensor<f32>, %v84: tensor<f32>):
        %v85 = stablehlo.add %v83, %v84 : tensor<f32> loc(#loc0)
        stablehlo.return %v85 : tensor<f32>
      }) : (tensor<4x7x10xf32>, tensor<f32>) -> (tensor<4x10xf32>) loc(#loc0)
      %v87 = stablehlo.broadcast_in_dim %v68, dims = [0] : (tensor<4xf32>) -> tensor<4x10xf32> loc(#loc0)
      %v88 = stablehlo.divide %v86, %v87 : tensor<4x10xf32> loc(#loc0)
      %v89 = stablehlo.broadcast_in_dim %v88, dims = [0, 2] : (tensor<4x10xf32>) -> tensor<4x7x10xf32> loc(#loc0)
      %v90 = stablehlo.broadcast_in_dim %v26, dims = [0, 1] : (tensor<4x7xi1>) -> tensor<4x7x10xi1> loc(#loc0)
      %v91 = stablehlo.select %v90, %v15, %v81 : tensor<4x7x10xi1>, tensor<4x7x10xf32> loc(#loc0)
      %v95 = "stablehlo.reduce"(%v91, %v30) <{dimensions = array<i64: 1>}> ({
      ^bb0(%v92: tensor<f32>, %v93: tensor<f32>):
        %v94 = stablehlo.add %v92, %v93 : tensor<f32> loc(#loc0)
        stablehlo.return %v94 : tensor<f32>
      }) : (tensor<4x7x10xf32>, tensor<f32>) -> (tensor<4x10xf32>) loc(#loc0)
      %v96 = stablehlo.broadcast_in_dim %v95, dims = [0, 2] : (tensor<4x10xf32>) -> tensor<4x7x10xf32> loc(#loc0)
      %v97 = stablehlo.select %v80, %v96, %v15 : tensor<4x7x10xi1>, tensor<4x7x10xf32> loc(#loc0)
      %v98 = stablehlo.select %v26, %v34, %v35 : tensor<4x7xi1>, tensor<4x7xf32> loc(#loc0)
      %v102 = "stablehlo.reduce"(%v98, %v30) <{dimensions = array<i64: 1>}> ({
      ^bb0(%v99: tensor<f32>, %v100: tensor<f32>):
        %v101 = stablehlo.add %v99, %v100 : tensor<f32> loc(#loc0)
        stablehlo.return %v101 : tensor<f32>
      }) : (tensor<4x7xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
      %v103 = stablehlo.broadcast_in_dim %v102, dims = [0] : (tensor<4xf32>) -> tensor<4x7xf32> loc(#loc0)
      %v104 = stablehlo.select %v63, %v103, %v34 : tensor<4x7xi1>, tensor<4x7xf32> loc(#loc0)
      %v105 = stablehlo.broadcast_in_dim %v104, dims = [0, 1] : (tensor<4x7xf32>) -> tensor<4x7x10xf32> loc(#loc0)
      %v106 = stablehlo.multiply %v105, %v89 : tensor<4x7x10xf32> loc(#loc0)
      %v107 = stablehlo.subtract %v97, %v106 : tensor<4x7x10xf32> loc(#loc0)
      %v108 = stablehlo.select %v90, %v89, %v107 : tensor<4x7x10xi1>, tensor<4x7x10xf32> loc(#loc0)
      %v109 = stablehlo.constant dense<"0x01000000"> : tensor<i32> loc(#loc0)
      %v110 = stablehlo.add %v14, %v109 : tensor<i32> loc(#loc0)
      stablehlo.return %v110, %v108, %v76, %v79, %v18 : tensor<i32>, tensor<4x7x10xf32>, tensor<4xf32>, tensor<4xf32>, tensor<7xi32>
    }) : (tensor<i32>, tensor<4x7x10xf32>, tensor<4xf32>, tensor<4xf32>, tensor<7xi32>) -> (tensor<i32>, tensor<4x7x10xf32>, tensor<4xf32>, tensor<4xf32>, tensor<7xi32>) loc(#loc0)
    %v112 = "stablehlo.slice"(%v111#1) <{limit_indices = array<i64: 4, 7, 10>, start_indices = array<i64: 0, 0, 7>, strides = array<i64: 1, 1, 1>}> : (tensor<4x7x10xf32>) -> (tensor<4x7x3xf32>) loc(#loc0)
    %v113 = stablehlo.convert %v112 : (tensor<4x7x3xf32>) -> tensor<4x7x3xf16> loc(#loc0)
    %v114 = stablehlo.convert %v111#2 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    %v115 = stablehlo.convert %v111#3 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    return %v113, %v114, %v115, %arg2 : tensor<4x7x3xf16>, tensor<4xf16>, tensor<4xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// factor/cholesky of one number float32
module @factor_cholesky_of_one_number_float32 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<5x1x1xf32>, %arg1: tensor<3xi32>) -> (tensor<5x1x1xf32>, tensor<3xi32>) {
    %v0 = stablehlo.sqrt %arg0 : tensor<5x1x1xf32> loc(#loc0)
    return %v0, %arg1 : tensor<5x1x1xf32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// fourier/float16[2] axis 0
module @fourier_float16_2__axis_0 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf16>, %arg1: tensor<2xf16>, %arg2: tensor<3xi32>) -> (tensor<2xf16>, tensor<2xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<2xf16>) -> tensor<2xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<2xf16>) -> tensor<2xf32> loc(#loc0)
    %v2 = stablehlo.concatenate %v0, %v1, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32> loc(#loc0)
    %v3 = stablehlo.reshape %v2 : (tensor<4xf32>) -> tensor<1x4xf32> loc(#loc0)
    %v4 = stablehlo.constant dense<"0x0000803F0000803F00000080000000800000803F000080BF000000800000000000000000000000000000803F0000803F00000000000000800000803F000080BF"> : tensor<4x4xf32> loc(#loc0)
    %v5 = stablehlo.dot_general %v3, %v4, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32> loc(#loc0)
    %v6 = stablehlo.reshape %v5 : (tensor<1x4xf32>) -> tensor<4xf32> loc(#loc0)
    %v7 = "stablehlo.slice"(%v6) <{limit_indices = array<i64: 2>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xf32>) -> (tensor<2xf32>) loc(#loc0)
    %v8 = "stablehlo.slice"(%v6) <{limit_indices = array<i64: 4>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xf32>) -> (tensor<2xf32>) loc(#loc0)
    %v9 = stablehlo.convert %v7 : (tensor<2xf32>) -> tensor<2xf16> loc(#loc0)
    %v10 = stablehlo.convert %v8 : (tensor<2xf32>) -> tensor<2xf16> loc(#loc0)
    return %v9, %v10, %arg2 : tensor<2xf16>, tensor<2xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// real_fourier/float16[] length 2
module @real_fourier_float16___length_2 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf16>, %arg1: tensor<3xi32>) -> (tensor<2xf16>, tensor<2xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<2xf16>) -> tensor<2xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x00000000"> : tensor<2xf32> loc(#loc0)
    %v2 = stablehlo.concatenate %v0, %v1, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32> loc(#loc0)
    %v3 = stablehlo.reshape %v2 : (tensor<4xf32>) -> tensor<1x4xf32> loc(#loc0)
    %v4 = stablehlo.constant dense<"0x0000803F0000803F00000080000000800000803F000080BF000000800000000000000000000000000000803F0000803F00000000000000800000803F000080BF"> : tensor<4x4xf32> loc(#loc0)
    %v5 = stablehlo.dot_general %v3, %v4, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32> loc(#loc0)
    %v6 = stablehlo.reshape %v5 : (tensor<1x4xf32>) -> tensor<4xf32> loc(#loc0)
    %v7 = "stablehlo.slice"(%v6) <{limit_indices = array<i64: 2>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xf32>) -> (tensor<2xf32>) loc(#loc0)
    %v8 = "stablehlo.slice"(%v6) <{limit_indices = array<i64: 4>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xf32>) -> (tensor<2xf32>) loc(#loc0)
    %v9 = "stablehlo.slice"(%v7) <{limit_indices = array<i64: 2>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xf32>) -> (tensor<2xf32>) loc(#loc0)
    %v10 = "stablehlo.slice"(%v8) <{limit_indices = array<i64: 2>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<2xf32>) -> (tensor<2xf32>) loc(#loc0)
    %v11 = stablehlo.convert %v9 : (tensor<2xf32>) -> tensor<2xf16> loc(#loc0)
    %v12 = stablehlo.convert %v10 : (tensor<2xf32>) -> tensor<2xf16> loc(#loc0)
    return %v11, %v12, %arg1 : tensor<2xf16>, tensor<2xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// hermitian_fourier/float16[] length 2
module @hermitian_fourier_float16___length_2 attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf16>, %arg1: tensor<2xf16>, %arg2: tensor<3xi32>) -> (tensor<2xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg0 : (tensor<2xf16>) -> tensor<2xf32> loc(#loc0)
    %v1 = stablehlo.convert %arg1 : (tensor<2xf16>) -> tensor<2xf32> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x0000000000000000"> : tensor<2xf32> loc(#loc0)
    %v3 = stablehlo.broadcast_in_dim %v2, dims = [0] : (tensor<2xf32>) -> tensor<2xf32> loc(#loc0)
    %v4 = stablehlo.multiply %v1, %v3 : tensor<2xf32> loc(#loc0)
    %v5 = "stablehlo.slice"(%v0) <{limit_indices = array<i64: 1>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xf32>) -> (tensor<0xf32>) loc(#loc0)
    %v6 = stablehlo.reverse %v5, dims = [0] : tensor<0xf32> loc(#loc0)
    %v7 = stablehlo.concatenate %v0, %v6, dim = 0 : (tensor<2xf32>, tensor<0xf32>) -> tensor<2xf32> loc(#loc0)
    %v8 = "stablehlo.slice"(%v4) <{limit_indices = array<i64: 1>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xf32>) -> (tensor<0xf32>) loc(#loc0)
    %v9 = stablehlo.reverse %v8, dims = [0] : tensor<0xf32> loc(#loc0)
    %v10 = stablehlo.negate %v9 : tensor<0xf32> loc(#loc0)
    %v11 = stablehlo.concatenate %v4, %v10, dim = 0 : (tensor<2xf32>, tensor<0xf32>) -> tensor<2xf32> loc(#loc0)
    %v12 = stablehlo.concatenate %v11, %v7, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32> loc(#loc0)
    %v13 = stablehlo.reshape %v12 : (tensor<4xf32>) -> tensor<1x4xf32> loc(#loc0)
    %v14 = stablehlo.constant dense<"0x0000803F0000803F00000080000000800000803F000080BF000000800000000000000000000000000000803F0000803F00000000000000800000803F000080BF"> : tensor<4x4xf32> loc(#loc0)
    %v15 = stablehlo.dot_general %v13, %v14, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32> loc(#loc0)
    %v16 = stablehlo.reshape %v15 : (tensor<1x4xf32>) -> tensor<4xf32> loc(#loc0)
    %v17 = "stablehlo.slice"(%v16) <{limit_indices = array<i64: 4>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xf32>) -> (tensor<2xf32>) loc(#loc0)
    %v18 = stablehlo.convert %v17 : (tensor<2xf32>) -> tensor<2xf16> loc(#loc0)
    return %v18, %arg2 : tensor<2xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// embedding/float16[7 1] of [9]
module @embedding_float16_7_1__of__9_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7x1xf16>, %arg1: tensor<9xi32>, %arg2: tensor<3xi32>) -> (tensor<9x1xf16>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x07000000"> : tensor<9xi32> loc(#loc0)
    %v1 = stablehlo.compare LT, %arg1, %v0, SIGNED : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi1> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x00000000"> : tensor<9xi32> loc(#loc0)
    %v3 = stablehlo.compare GE, %arg1, %v2, SIGNED : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi1> loc(#loc0)
    %v4 = stablehlo.and %v1, %v3 : tensor<9xi1> loc(#loc0)
    %v5 = stablehlo.maximum %arg1, %v2 : tensor<9xi32> loc(#loc0)
    %v6 = stablehlo.constant dense<"0x06000000"> : tensor<9xi32> loc(#loc0)
    %v7 = stablehlo.minimum %v5, %v6 : tensor<9xi32> loc(#loc0)
    %v8 = "stablehlo.gather"(%arg0, %v7) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<7x1xf16>, tensor<9xi32>) -> (tensor<9x1xf16>) loc(#loc0)
    %v9 = stablehlo.convert %arg1 : (tensor<9xi32>) -> tensor<9xi64>
    %v10 = stablehlo.iota dim = 0 : tensor<9xi64>
    %v11 = stablehlo.constant dense<"0x0000000001000000"> : tensor<9xi64>
    %v12 = stablehlo.multiply %v10, %v11 : tensor<9xi64>
    %v13 = stablehlo.constant dense<"0x0000008000000000"> : tensor<9xi64>
    %v14 = stablehlo.add %v12, %v13 : tensor<9xi64>
    %v15 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<9xi64>
    %v16 = stablehlo.add %v14, %v9 : tensor<9xi64>
    %v17 = stablehlo.select %v4, %v15, %v16 : tensor<9xi1>, tensor<9xi64>
    %v18 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v22 = "stablehlo.reduce"(%v17, %v18) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v19: tensor<i64>, %v20: tensor<i64>):
      %v21 = stablehlo.minimum %v19, %v20 : tensor<i64>
      stablehlo.return %v21 : tensor<i64>
    }) : (tensor<9xi64>, tensor<i64>) -> (tensor<i64>)
    %v23 = stablehlo.compare NE, %v22, %v18, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v24 = stablehlo.constant dense<"0x2400000000000000"> : tensor<i64>
    %v25 = stablehlo.shift_right_logical %v22, %v24 : tensor<i64>
    %v26 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v27 = stablehlo.add %v25, %v26 : tensor<i64>
    %v28 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v29 = stablehlo.and %v22, %v28 : tensor<i64>
    %v30 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v31 = stablehlo.subtract %v29, %v30 : tensor<i64>
    %v32 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v33 = stablehlo.convert %v27 : (tensor<i64>) -> tensor<i32>
    %v34 = stablehlo.reshape %v33 : (tensor<i32>) -> tensor<1xi32>
    %v35 = stablehlo.convert %v31 : (tensor<i64>) -> tensor<i32>
    %v36 = stablehlo.reshape %v35 : (tensor<i32>) -> tensor<1xi32>
    %v37 = stablehlo.concatenate %v32, %v34, %v36, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v38 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v39 = stablehlo.reshape %v38 : (tensor<1xi32>) -> tensor<i32>
    %v40 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v41 = stablehlo.compare NE, %v39, %v40, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v42 = stablehlo.not %v41 : tensor<i1>
    %v43 = stablehlo.and %v23, %v42 : tensor<i1>
    %v44 = stablehlo.broadcast_in_dim %v43, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v45 = stablehlo.select %v44, %v37, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %v8, %v45 : tensor<9x1xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// embedding_grad/float16[7 1] of [9]
module @embedding_grad_float16_7_1__of__9_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<7x1xf16>, %arg1: tensor<9xi32>, %arg2: tensor<9x1xf16>, %arg3: tensor<3xi32>) -> (tensor<7x1xf16>, tensor<3xi32>) {
    %v0 = stablehlo.convert %arg2 : (tensor<9x1xf16>) -> tensor<9x1xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x00000000"> : tensor<7x1xf32> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x07000000"> : tensor<9xi32> loc(#loc0)
    %v3 = stablehlo.compare LT, %arg1, %v2, SIGNED : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi1> loc(#loc0)
    %v4 = stablehlo.constant dense<"0x00000000"> : tensor<9xi32> loc(#loc0)
    %v5 = stablehlo.compare GE, %arg1, %v4, SIGNED : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi1> loc(#loc0)
    %v6 = stablehlo.and %v3, %v5 : tensor<9xi1> loc(#loc0)
    %v7 = stablehlo.maximum %arg1, %v4 : tensor<9xi32> loc(#loc0)
    %v8 = stablehlo.constant dense<"0x06000000"> : tensor<9xi32> loc(#loc0)
    %v9 = stablehlo.minimum %v7, %v8 : tensor<9xi32> loc(#loc0)
    %v10 = stablehlo.select %v6, %v9, %v2 : tensor<9xi1>, tensor<9xi32> loc(#loc0)
    %v14 = "stablehlo.scatter"(%v1, %v10, %v0) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%v11: tensor<f32>, %v12: tensor<f32>):
      %v13 = stablehlo.add %v11, %v12 : tensor<f32> loc(#loc0)
      stablehlo.return %v13 : tensor<f32>
    }) : (tensor<7x1xf32>, tensor<9xi32>, tensor<9x1xf32>) -> (tensor<7x1xf32>) loc(#loc0)
    %v15 = stablehlo.convert %v14 : (tensor<7x1xf32>) -> tensor<7x1xf16> loc(#loc0)
    %v16 = stablehlo.convert %arg1 : (tensor<9xi32>) -> tensor<9xi64>
    %v17 = stablehlo.iota dim = 0 : tensor<9xi64>
    %v18 = stablehlo.constant dense<"0x0000000001000000"> : tensor<9xi64>
    %v19 = stablehlo.multiply %v17, %v18 : tensor<9xi64>
    %v20 = stablehlo.constant dense<"0x0000008000000000"> : tensor<9xi64>
    %v21 = stablehlo.add %v19, %v20 : tensor<9xi64>
    %v22 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<9xi64>
    %v23 = stablehlo.add %v21, %v16 : tensor<9xi64>
    %v24 = stablehlo.select %v6, %v22, %v23 : tensor<9xi1>, tensor<9xi64>
    %v25 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v29 = "stablehlo.reduce"(%v24, %v25) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v26: tensor<i64>, %v27: tensor<i64>):
      %v28 = stablehlo.minimum %v26, %v27 : tensor<i64>
      stablehlo.return %v28 : tensor<i64>
    }) : (tensor<9xi64>, tensor<i64>) -> (tensor<i64>)
    %v30 = stablehlo.compare NE, %v29, %v25, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v31 = stablehlo.constant dense<"0x2400000000000000"> : tensor<i64>
    %v32 = stablehlo.shift_right_logical %v29, %v31 : tensor<i64>
    %v33 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v34 = stablehlo.add %v32, %v33 : tensor<i64>
    %v35 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v36 = stablehlo.and %v29, %v35 : tensor<i64>
    %v37 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v38 = stablehlo.subtract %v36, %v37 : tensor<i64>
    %v39 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v40 = stablehlo.convert %v34 : (tensor<i64>) -> tensor<i32>
    %v41 = stablehlo.reshape %v40 : (tensor<i32>) -> tensor<1xi32>
    %v42 = stablehlo.convert %v38 : (tensor<i64>) -> tensor<i32>
    %v43 = stablehlo.reshape %v42 : (tensor<i32>) -> tensor<1xi32>
    %v44 = stablehlo.concatenate %v39, %v41, %v43, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v45 = "stablehlo.slice"(%arg3) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v46 = stablehlo.reshape %v45 : (tensor<1xi32>) -> tensor<i32>
    %v47 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v48 = stablehlo.compare NE, %v46, %v47, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v49 = stablehlo.not %v48 : tensor<i1>
    %v50 = stablehlo.and %v30, %v49 : tensor<i1>
    %v51 = stablehlo.broadcast_in_dim %v50, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v52 = stablehlo.select %v51, %v44, %arg3 : tensor<3xi1>, tensor<3xi32>
    return %v15, %v52 : tensor<7x1xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// rnn_scan/float16 [2 4 3] {simple tanh sigmoid false false false}
module @rnn_scan_float16__2_4_3___simple_tanh_sigmoid_false_false_false_ attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x3xf16>, %arg1: tensor<3x3xf16>, %arg2: tensor<2x3xf16>, %arg3: tensor<3xi32>) -> (tensor<2x4x3xf16>, tensor<2x3xf16>, tensor<3xi32>) {
    %v0 = stablehlo.transpose %arg0, dims = [1, 0, 2] : (tensor<2x4x3xf16>) -> tensor<4x2x3xf16> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x0000"> : tensor<4x2x3xf16> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x00000000"> : tensor<i32> loc(#loc0)
    %v26:5 = "stablehlo.while"(%v2, %arg2, %v0, %arg1, %v1) ({
    ^bb0(%v3: tensor<i32>, %v4: tensor<2x3xf16>, %v5: tensor<4x2x3xf16>, %v6: tensor<3x3xf16>, %v7: tensor<4x2x3xf16>):
      %v8 = stablehlo.constant dense<"0x04000000"> : tensor<i32> loc(#loc0)
      %v9 = stablehlo.compare LT, %v3, %v8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> loc(#loc0)
      stablehlo.return %v9 : tensor<i1>
    }, {
    ^bb0(%v10: tensor<i32>, %v11: tensor<2x3xf16>, %v12: tensor<4x2x3xf16>, %v13: tensor<3x3xf16>, %v14: tensor<4x2x3xf16>):
      %v15 = stablehlo.constant dense<"0x00000000"> : tensor<i32> loc(#loc0)
      %v16 = "stablehlo.dynamic_slice"(%v12, %v10, %v15, %v15) <{slice_sizes = array<i64: 1, 2, 3>}> : (tensor<4x2x3xf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<1x2x3xf16>) loc(#loc0)
      %v17 = stablehlo.reshape %v16 : (tensor<1x2x3xf16>) -> tensor<2x3xf16> loc(#loc0)
      %v18 = stablehlo.dot_general %v11, %v13, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf16>, tensor<3x3xf16>) -> tensor<2x3xf32> loc(#loc0)
      %v19 = stablehlo.convert %v18 : (tensor<2x3xf32>) -> tensor<2x3xf16> loc(#loc0)
      %v20 = stablehlo.add %v17, %v19 : tensor<2x3xf16> loc(#loc0)
      %v21 = stablehlo.tanh %v20 : tensor<2x3xf16> loc(#loc0)
      %v22 = stablehlo.constant dense<"0x01000000"> : tensor<i32> loc(#loc0)
      %v23 = stablehlo.add %v10, %v22 : tensor<i32> loc(#loc0)
      %v24 = stablehlo.reshape %v21 : (tensor<2x3xf16>) -> tensor<1x2x3xf16> loc(#loc0)
      %v25 = "stablehlo.dynamic_update_slice"(%v14, %v24, %v10, %v15, %v15) : (tensor<4x2x3xf16>, tensor<1x2x3xf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<4x2x3xf16>) loc(#loc0)
      stablehlo.return %v23, %v21, %v12, %v13, %v25 : tensor<i32>, tensor<2x3xf16>, tensor<4x2x3xf16>, tensor<3x3xf16>, tensor<4x2x3xf16>
    }) : (tensor<i32>, tensor<2x3xf16>, tensor<4x2x3xf16>, tensor<3x3xf16>, tensor<4x2x3xf16>) -> (tensor<i32>, tensor<2x3xf16>, tensor<4x2x3xf16>, tensor<3x3xf16>, tensor<4x2x3xf16>) loc(#loc0)
    %v27 = stablehlo.transpose %v26#4, dims = [1, 0, 2] : (tensor<4x2x3xf16>) -> tensor<2x4x3xf16> loc(#loc0)
    return %v27, %v26#1, %arg3 : tensor<2x4x3xf16>, tensor<2x3xf16>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// scan/swapped carries
module @scan_swapped_carries attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<3xi32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>, tensor<3xi32>) {
    %v0 = stablehlo.constant dense<"0x00000000"> : tensor<4x2x3xf32> loc(#loc0)
    %v1 = stablehlo.constant dense<"0x00000000"> : tensor<i32> loc(#loc0)
    %v21:5 = "stablehlo.while"(%v1, %arg0, %arg1, %v0, %v0) ({
    ^bb0(%v2: tensor<i32>, %v3: tensor<2x3xf32>, %v4: tensor<2x3xf32>, %v5: tensor<4x2x3xf32>, %v6: tensor<4x2x3xf32>):
      %v7 = stablehlo.constant dense<"0x04000000"> : tensor<i32> loc(#loc0)
      %v8 = stablehlo.compare LT, %v2, %v7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> loc(#loc0)
      stablehlo.return %v8 : tensor<i1>
    }, {
    ^bb0(%v9: tensor<i32>, %v10: tensor<2x3xf32>, %v11: tensor<2x3xf32>, %v12: tensor<4x2x3xf32>, %v13: tensor<4x2x3xf32>):
      %v14 = stablehlo.constant dense<"0x00000000"> : tensor<i32> loc(#loc0)
      %v15 = stablehlo.add %v10, %v11 : tensor<2x3xf32> loc(#loc0)
      %v16 = stablehlo.constant dense<"0x01000000"> : tensor<i32> loc(#loc0)
      %v17 = stablehlo.add %v9, %v16 : tensor<i32> loc(#loc0)
      %v18 = stablehlo.reshape %v10 : (tensor<2x3xf32>) -> tensor<1x2x3xf32> loc(#loc0)
      %v19 = "stablehlo.dynamic_update_slice"(%v12, %v18, %v9, %v14, %v14) : (tensor<4x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<4x2x3xf32>) loc(#loc0)
      %v20 = "stablehlo.dynamic_update_slice"(%v13, %v18, %v9, %v14, %v14) : (tensor<4x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<4x2x3xf32>) loc(#loc0)
      stablehlo.return %v17, %v11, %v15, %v19, %v20 : tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>
    }) : (tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>) -> (tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>) loc(#loc0)
    return %v21#1, %v21#2, %v21#3, %v21#4, %arg2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// all_reduce over 2 replicas
module @collective attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32>, %arg1: tensor<3xi32>) -> (tensor<4x2xf32>, tensor<3xi32>) {
    %v3 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%v0: tensor<f32>, %v1: tensor<f32>):
      %v2 = stablehlo.add %v0, %v1 : tensor<f32> loc(#loc0)
      stablehlo.return %v2 : tensor<f32>
    }) : (tensor<4x2xf32>) -> (tensor<4x2xf32>) loc(#loc0)
    return %v3, %arg1 : tensor<4x2xf32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// all_gather over 2 replicas
module @collective attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32>, %arg1: tensor<3xi32>) -> (tensor<8x2xf32>, tensor<3xi32>) {
    %v0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x2xf32>) -> (tensor<8x2xf32>) loc(#loc0)
    return %v0, %arg1 : tensor<8x2xf32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// reduce_scatter over 2 replicas
module @collective attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32>, %arg1: tensor<3xi32>) -> (tensor<2x2xf32>, tensor<3xi32>) {
    %v3 = "stablehlo.reduce_scatter"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%v0: tensor<f32>, %v1: tensor<f32>):
      %v2 = stablehlo.add %v0, %v1 : tensor<f32> loc(#loc0)
      stablehlo.return %v2 : tensor<f32>
    }) : (tensor<4x2xf32>) -> (tensor<2x2xf32>) loc(#loc0)
    return %v3, %arg1 : tensor<2x2xf32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// collective_broadcast over 2 replicas
module @collective attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32>, %arg1: tensor<3xi32>) -> (tensor<4x2xf32>, tensor<3xi32>) {
    %v0 = stablehlo.reshape %arg0 : (tensor<4x2xf32>) -> tensor<1x4x2xf32> loc(#loc0)
    %v1 = "stablehlo.all_gather"(%v0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1x4x2xf32>) -> (tensor<2x4x2xf32>) loc(#loc0)
    %v2 = "stablehlo.slice"(%v1) <{limit_indices = array<i64: 1, 4, 2>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<2x4x2xf32>) -> (tensor<1x4x2xf32>) loc(#loc0)
    %v3 = stablehlo.reshape %v2 : (tensor<1x4x2xf32>) -> tensor<4x2xf32> loc(#loc0)
    return %v3, %arg1 : tensor<4x2xf32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

// replica_id over 2 replicas
module @collective attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<3xi32>) -> (tensor<ui32>, tensor<3xi32>) {
    %v0 = stablehlo.replica_id : tensor<ui32> loc(#loc0)
    return %v0, %arg0 : tensor<ui32>, tensor<3xi32>
  }
}
#loc0 = loc("layer")

