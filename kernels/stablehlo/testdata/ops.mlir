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
    %v29 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v30 = stablehlo.shift_right_logical %v27, %v29 : tensor<1xui64>
    %v31 = stablehlo.convert %v30 : (tensor<1xui64>) -> tensor<1xui32>
    %v32 = stablehlo.xor %v31, %v7 : tensor<1xui32>
    %v33 = stablehlo.xor %v32, %v2 : tensor<1xui32>
    %v34 = stablehlo.xor %v24, %v13 : tensor<1xui32>
    %v35 = stablehlo.xor %v34, %v5 : tensor<1xui32>
    %v36 = stablehlo.add %v2, %v16 : tensor<1xui32>
    %v37 = stablehlo.add %v5, %v17 : tensor<1xui32>
    %v38 = stablehlo.convert %v33 : (tensor<1xui32>) -> tensor<1xui64>
    %v39 = stablehlo.convert %v14 : (tensor<1xui32>) -> tensor<1xui64>
    %v40 = stablehlo.multiply %v38, %v39 : tensor<1xui64>
    %v41 = stablehlo.multiply %v33, %v14 : tensor<1xui32>
    %v42 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v43 = stablehlo.shift_right_logical %v40, %v42 : tensor<1xui64>
    %v44 = stablehlo.convert %v43 : (tensor<1xui64>) -> tensor<1xui32>
    %v45 = stablehlo.convert %v35 : (tensor<1xui32>) -> tensor<1xui64>
    %v46 = stablehlo.convert %v15 : (tensor<1xui32>) -> tensor<1xui64>
    %v47 = stablehlo.multiply %v45, %v46 : tensor<1xui64>
    %v48 = stablehlo.multiply %v35, %v15 : tensor<1xui32>
    %v49 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v50 = stablehlo.shift_right_logical %v47, %v49 : tensor<1xui64>
    %v51 = stablehlo.convert %v50 : (tensor<1xui64>) -> tensor<1xui32>
    %v52 = stablehlo.xor %v51, %v28 : tensor<1xui32>
    %v53 = stablehlo.xor %v52, %v36 : tensor<1xui32>
    %v54 = stablehlo.xor %v44, %v21 : tensor<1xui32>
    %v55 = stablehlo.xor %v54, %v37 : tensor<1xui32>
    %v56 = stablehlo.add %v36, %v16 : tensor<1xui32>
    %v57 = stablehlo.add %v37, %v17 : tensor<1xui32>
    %v58 = stablehlo.convert %v53 : (tensor<1xui32>) -> tensor<1xui64>
    %v59 = stablehlo.convert %v14 : (tensor<1xui32>) -> tensor<1xui64>
    %v60 = stablehlo.multiply %v58, %v59 : tensor<1xui64>
    %v61 = stablehlo.multiply %v53, %v14 : tensor<1xui32>
    %v62 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v63 = stablehlo.shift_right_logical %v60, %v62 : tensor<1xui64>
    %v64 = stablehlo.convert %v63 : (tensor<1xui64>) -> tensor<1xui32>
    %v65 = stablehlo.convert %v55 : (tensor<1xui32>) -> tensor<1xui64>
    %v66 = stablehlo.convert %v15 : (tensor<1xui32>) -> tensor<1xui64>
    %v67 = stablehlo.multiply %v65, %v66 : tensor<1xui64>
    %v68 = stablehlo.multiply %v55, %v15 : tensor<1xui32>
    %v69 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v70 = stablehlo.shift_right_logical %v67, %v69 : tensor<1xui64>
    %v71 = stablehlo.convert %v70 : (tensor<1xui64>) -> tensor<1xui32>
    %v72 = stablehlo.xor %v71, %v48 : tensor<1xui32>
    %v73 = stablehlo.xor %v72, %v56 : tensor<1xui32>
    %v74 = stablehlo.xor %v64, %v41 : tensor<1xui32>
    %v75 = stablehlo.xor %v74, %v57 : tensor<1xui32>
    %v76 = stablehlo.add %v56, %v16 : tensor<1xui32>
    %v77 = stablehlo.add %v57, %v17 : tensor<1xui32>
    %v78 = stablehlo.convert %v73 : (tensor<1xui32>) -> tensor<1xui64>
    %v79 = stablehlo.convert %v14 : (tensor<1xui32>) -> tensor<1xui64>
    %v80 = stablehlo.multiply %v78, %v79 : tensor<1xui64>
    %v81 = stablehlo.multiply %v73, %v14 : tensor<1xui32>
    %v82 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v83 = stablehlo.shift_right_logical %v80, %v82 : tensor<1xui64>
    %v84 = stablehlo.convert %v83 : (tensor<1xui64>) -> tensor<1xui32>
    %v85 = stablehlo.convert %v75 : (tensor<1xui32>) -> tensor<1xui64>
    %v86 = stablehlo.convert %v15 : (tensor<1xui32>) -> tensor<1xui64>
    %v87 = stablehlo.multiply %v85, %v86 : tensor<1xui64>
    %v88 = stablehlo.multiply %v75, %v15 : tensor<1xui32>
    %v89 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v90 = stablehlo.shift_right_logical %v87, %v89 : tensor<1xui64>
    %v91 = stablehlo.convert %v90 : (tensor<1xui64>) -> tensor<1xui32>
    %v92 = stablehlo.xor %v91, %v68 : tensor<1xui32>
    %v93 = stablehlo.xor %v92, %v76 : tensor<1xui32>
    %v94 = stablehlo.xor %v84, %v61 : tensor<1xui32>
    %v95 = stablehlo.xor %v94, %v77 : tensor<1xui32>
    %v96 = stablehlo.add %v76, %v16 : tensor<1xui32>
    %v97 = stablehlo.add %v77, %v17 : tensor<1xui32>
    %v98 = stablehlo.convert %v93 : (tensor<1xui32>) -> tensor<1xui64>
    %v99 = stablehlo.convert %v14 : (tensor<1xui32>) -> tensor<1xui64>
    %v100 = stablehlo.multiply %v98, %v99 : tensor<1xui64>
    %v101 = stablehlo.multiply %v93, %v14 : tensor<1xui32>
    %v102 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v103 = stablehlo.shift_right_logical %v100, %v102 : tensor<1xui64>
    %v104 = stablehlo.convert %v103 : (tensor<1xui64>) -> tensor<1xui32>
    %v105 = stablehlo.convert %v95 : (tensor<1xui32>) -> tensor<1xui64>
    %v106 = stablehlo.convert %v15 : (tensor<1xui32>) -> tensor<1xui64>
    %v107 = stablehlo.multiply %v105, %v106 : tensor<1xui64>
    %v108 = stablehlo.multiply %v95, %v15 : tensor<1xui32>
    %v109 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v110 = stablehlo.shift_right_logical %v107, %v109 : tensor<1xui64>
    %v111 = stablehlo.convert %v110 : (tensor<1xui64>) -> tensor<1xui32>
    %v112 = stablehlo.xor %v111, %v88 : tensor<1xui32>
    %v113 = stablehlo.xor %v112, %v96 : tensor<1xui32>
    %v114 = stablehlo.xor %v104, %v81 : tensor<1xui32>
    %v115 = stablehlo.xor %v114, %v97 : tensor<1xui32>
    %v116 = stablehlo.add %v96, %v16 : tensor<1xui32>
    %v117 = stablehlo.add %v97, %v17 : tensor<1xui32>
    %v118 = stablehlo.convert %v113 : (tensor<1xui32>) -> tensor<1xui64>
    %v119 = stablehlo.convert %v14 : (tensor<1xui32>) -> tensor<1xui64>
    %v120 = stablehlo.multiply %v118, %v119 : tensor<1xui64>
    %v121 = stablehlo.multiply %v113, %v14 : tensor<1xui32>
    %v122 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v123 = stablehlo.shift_right_logical %v120, %v122 : tensor<1xui64>
    %v124 = stablehlo.convert %v123 : (tensor<1xui64>) -> tensor<1xui32>
    %v125 = stablehlo.convert %v115 : (tensor<1xui32>) -> tensor<1xui64>
    %v126 = stablehlo.convert %v15 : (tensor<1xui32>) -> tensor<1xui64>
    %v127 = stablehlo.multiply %v125, %v126 : tensor<1xui64>
    %v128 = stablehlo.multiply %v115, %v15 : tensor<1xui32>
    %v129 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v130 = stablehlo.shift_right_logical %v127, %v129 : tensor<1xui64>
    %v131 = stablehlo.convert %v130 : (tensor<1xui64>) -> tensor<1xui32>
    %v132 = stablehlo.xor %v131, %v108 : tensor<1xui32>
    %v133 = stablehlo.xor %v132, %v116 : tensor<1xui32>
    %v134 = stablehlo.xor %v124, %v101 : tensor<1xui32>
    %v135 = stablehlo.xor %v134, %v117 : tensor<1xui32>
    %v136 = stablehlo.add %v116, %v16 : tensor<1xui32>
    %v137 = stablehlo.add %v117, %v17 : tensor<1xui32>
    %v138 = stablehlo.convert %v133 : (tensor<1xui32>) -> tensor<1xui64>
    %v139 = stablehlo.convert %v14 : (tensor<1xui32>) -> tensor<1xui64>
    %v140 = stablehlo.multiply %v138, %v139 : tensor<1xui64>
    %v141 = stablehlo.multiply %v133, %v14 : tensor<1xui32>
    %v142 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v143 = stablehlo.shift_right_logical %v140, %v142 : tensor<1xui64>
    %v144 = stablehlo.convert %v143 : (tensor<1xui64>) -> tensor<1xui32>
    %v145 = stablehlo.convert %v135 : (tensor<1xui32>) -> tensor<1xui64>
    %v146 = stablehlo.convert %v15 : (tensor<1xui32>) -> tensor<1xui64>
    %v147 = stablehlo.multiply %v145, %v146 : tensor<1xui64>
    %v148 = stablehlo.multiply %v135, %v15 : tensor<1xui32>
    %v149 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v150 = stablehlo.shift_right_logical %v147, %v149 : tensor<1xui64>
    %v151 = stablehlo.convert %v150 : (tensor<1xui64>) -> tensor<1xui32>
    %v152 = stablehlo.xor %v151, %v128 : tensor<1xui32>
    %v153 = stablehlo.xor %v152, %v136 : tensor<1xui32>
    %v154 = stablehlo.xor %v144, %v121 : tensor<1xui32>
    %v155 = stablehlo.xor %v154, %v137 : tensor<1xui32>
    %v156 = stablehlo.add %v136, %v16 : tensor<1xui32>
    %v157 = stablehlo.add %v137, %v17 : tensor<1xui32>
    %v158 = stablehlo.convert %v153 : (tensor<1xui32>) -> tensor<1xui64>
    %v159 = stablehlo.convert %v14 : (tensor<1xui32>) -> tensor<1xui64>
    %v160 = stablehlo.multiply %v158, %v159 : tensor<1xui64>
    %v161 = stablehlo.multiply %v153, %v14 : tensor<1xui32>
    %v162 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v163 = stablehlo.shift_right_logical %v160, %v162 : tensor<1xui64>
    %v164 = stablehlo.convert %v163 : (tensor<1xui64>) -> tensor<1xui32>
    %v165 = stablehlo.convert %v155 : (tensor<1xui32>) -> tensor<1xui64>
    %v166 = stablehlo.convert %v15 : (tensor<1xui32>) -> tensor<1xui64>
    %v167 = stablehlo.multiply %v165, %v166 : tensor<1xui64>
    %v168 = stablehlo.multiply %v155, %v15 : tensor<1xui32>
    %v169 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v170 = stablehlo.shift_right_logical %v167, %v169 : tensor<1xui64>
    %v171 = stablehlo.convert %v170 : (tensor<1xui64>) -> tensor<1xui32>
    %v172 = stablehlo.xor %v171, %v148 : tensor<1xui32>
    %v173 = stablehlo.xor %v172, %v156 : tensor<1xui32>
    %v174 = stablehlo.xor %v164, %v141 : tensor<1xui32>
    %v175 = stablehlo.xor %v174, %v157 : tensor<1xui32>
    %v176 = stablehlo.add %v156, %v16 : tensor<1xui32>
    %v177 = stablehlo.add %v157, %v17 : tensor<1xui32>
    %v178 = stablehlo.convert %v173 : (tensor<1xui32>) -> tensor<1xui64>
    %v179 = stablehlo.convert %v14 : (tensor<1xui32>) -> tensor<1xui64>
    %v180 = stablehlo.multiply %v178, %v179 : tensor<1xui64>
    %v181 = stablehlo.multiply %v173, %v14 : tensor<1xui32>
    %v182 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v183 = stablehlo.shift_right_logical %v180, %v182 : tensor<1xui64>
    %v184 = stablehlo.convert %v183 : (tensor<1xui64>) -> tensor<1xui32>
    %v185 = stablehlo.convert %v175 : (tensor<1xui32>) -> tensor<1xui64>
    %v186 = stablehlo.convert %v15 : (tensor<1xui32>) -> tensor<1xui64>
    %v187 = stablehlo.multiply %v185, %v186 : tensor<1xui64>
    %v188 = stablehlo.multiply %v175, %v15 : tensor<1xui32>
    %v189 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v190 = stablehlo.shift_right_logical %v187, %v189 : tensor<1xui64>
    %v191 = stablehlo.convert %v190 : (tensor<1xui64>) -> tensor<1xui32>
    %v192 = stablehlo.xor %v191, %v168 : tensor<1xui32>
    %v193 = stablehlo.xor %v192, %v176 : tensor<1xui32>
    %v194 = stablehlo.xor %v184, %v161 : tensor<1xui32>
    %v195 = stablehlo.xor %v194, %v177 : tensor<1xui32>
    %v196 = stablehlo.add %v176, %v16 : tensor<1xui32>
    %v197 = stablehlo.add %v177, %v17 : tensor<1xui32>
    %v198 = stablehlo.convert %v193 : (tensor<1xui32>) -> tensor<1xui64>
    %v199 = stablehlo.convert %v14 : (tensor<1xui32>) -> tensor<1xui64>
    %v200 = stablehlo.multiply %v198, %v199 : tensor<1xui64>
    %v201 = stablehlo.multiply %v193, %v14 : tensor<1xui32>
    %v202 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v203 = stablehlo.shift_right_logical %v200, %v202 : tensor<1xui64>
    %v204 = stablehlo.convert %v203 : (tensor<1xui64>) -> tensor<1xui32>
    %v205 = stablehlo.convert %v195 : (tensor<1xui32>) -> tensor<1xui64>
    %v206 = stablehlo.convert %v15 : (tensor<1xui32>) -> tensor<1xui64>
    %v207 = stablehlo.multiply %v205, %v206 : tensor<1xui64>
    %v208 = stablehlo.multiply %v195, %v15 : tensor<1xui32>
    %v209 = stablehlo.constant dense<"0x2000000000000000"> : tensor<1xui64>
    %v210 = stablehlo.shift_right_logical %v207, %v209 : tensor<1xui64>
    %v211 = stablehlo.convert %v210 : (tensor<1xui64>) -> tensor<1xui32>
    %v212 = stablehlo.xor %v211, %v188 : tensor<1xui32>
    %v213 = stablehlo.xor %v212, %v196 : tensor<1xui32>
    %v214 = stablehlo.xor %v204, %v181 : tensor<1xui32>
    %v215 = stablehlo.xor %v214, %v197 : tensor<1xui32>
    %v216 = stablehlo.add %v196, %v16 : tensor<1xui32>
    %v217 = stablehlo.add %v197, %v17 : tensor<1xui32>
    %v218 = stablehlo.reshape %v213 : (tensor<1xui32>) -> tensor<1x1xui32>
    %v219 = stablehlo.reshape %v208 : (tensor<1xui32>) -> tensor<1x1xui32>
    %v220 = stablehlo.reshape %v215 : (tensor<1xui32>) -> tensor<1x1xui32>
    %v221 = stablehlo.reshape %v201 : (tensor<1xui32>) -> tensor<1x1xui32>
    %v222 = stablehlo.concatenate %v218, %v219, %v220, %v221, dim = 1 : (tensor<1x1xui32>, tensor<1x1xui32>, tensor<1x1xui32>, tensor<1x1xui32>) -> tensor<1x4xui32>
    %v223 = stablehlo.reshape %v222 : (tensor<1x4xui32>) -> tensor<4xui32>
    return %v223 : tensor<4xui32>
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
    %v16 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v17 = stablehlo.compare NE, %v15, %v16, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v18 = stablehlo.constant dense<"0x2700000000000000"> : tensor<i64>
    %v19 = stablehlo.shift_right_logical %v15, %v18 : tensor<i64>
    %v20 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v21 = stablehlo.add %v19, %v20 : tensor<i64>
    %v22 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v23 = stablehlo.and %v15, %v22 : tensor<i64>
    %v24 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v25 = stablehlo.subtract %v23, %v24 : tensor<i64>
    %v26 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v27 = stablehlo.convert %v21 : (tensor<i64>) -> tensor<i32>
    %v28 = stablehlo.reshape %v27 : (tensor<i32>) -> tensor<1xi32>
    %v29 = stablehlo.convert %v25 : (tensor<i64>) -> tensor<i32>
    %v30 = stablehlo.reshape %v29 : (tensor<i32>) -> tensor<1xi32>
    %v31 = stablehlo.concatenate %v26, %v28, %v30, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v32 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v33 = stablehlo.reshape %v32 : (tensor<1xi32>) -> tensor<i32>
    %v34 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v35 = stablehlo.compare NE, %v33, %v34, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v36 = stablehlo.not %v35 : tensor<i1>
    %v37 = stablehlo.and %v17, %v36 : tensor<i1>
    %v38 = stablehlo.broadcast_in_dim %v37, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v39 = stablehlo.select %v38, %v31, %arg1 : tensor<3xi1>, tensor<3xi32>
    return %arg0, %v39 : tensor<67xf16>, tensor<3xi32>
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
    %v5 = stablehlo.constant dense<"0x00000000"> : tensor<4xi32> loc(#loc0)
    %v6 = stablehlo.maximum %arg1, %v5 : tensor<4xi32> loc(#loc0)
    %v7 = stablehlo.constant dense<"0x04000000"> : tensor<4xi32> loc(#loc0)
    %v8 = stablehlo.minimum %v6, %v7 : tensor<4xi32> loc(#loc0)
    %v9 = "stablehlo.gather"(%arg0, %v8) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1, 2>}> : (tensor<3x5x2xf16>, tensor<4xi32>) -> (tensor<3x4x2xf16>) loc(#loc0)
    %v10 = stablehlo.convert %arg1 : (tensor<4xi32>) -> tensor<4xi64>
    %v11 = stablehlo.iota dim = 0 : tensor<4xi64>
    %v12 = stablehlo.constant dense<"0x0000000001000000"> : tensor<4xi64>
    %v13 = stablehlo.multiply %v11, %v12 : tensor<4xi64>
    %v14 = stablehlo.constant dense<"0x0000008000000000"> : tensor<4xi64>
    %v15 = stablehlo.add %v13, %v14 : tensor<4xi64>
    %v16 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<4xi64>
    %v17 = stablehlo.add %v15, %v10 : tensor<4xi64>
    %v18 = stablehlo.select %v4, %v16, %v17 : tensor<4xi1>, tensor<4xi64>
    %v19 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v23 = "stablehlo.reduce"(%v18, %v19) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v20: tensor<i64>, %v21: tensor<i64>):
      %v22 = stablehlo.minimum %v20, %v21 : tensor<i64>
      stablehlo.return %v22 : tensor<i64>
    }) : (tensor<4xi64>, tensor<i64>) -> (tensor<i64>)
    %v24 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v25 = stablehlo.compare NE, %v23, %v24, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v26 = stablehlo.constant dense<"0x2200000000000000"> : tensor<i64>
    %v27 = stablehlo.shift_right_logical %v23, %v26 : tensor<i64>
    %v28 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v29 = stablehlo.add %v27, %v28 : tensor<i64>
    %v30 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v31 = stablehlo.and %v23, %v30 : tensor<i64>
    %v32 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v33 = stablehlo.subtract %v31, %v32 : tensor<i64>
    %v34 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v35 = stablehlo.convert %v29 : (tensor<i64>) -> tensor<i32>
    %v36 = stablehlo.reshape %v35 : (tensor<i32>) -> tensor<1xi32>
    %v37 = stablehlo.convert %v33 : (tensor<i64>) -> tensor<i32>
    %v38 = stablehlo.reshape %v37 : (tensor<i32>) -> tensor<1xi32>
    %v39 = stablehlo.concatenate %v34, %v36, %v38, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v40 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v41 = stablehlo.reshape %v40 : (tensor<1xi32>) -> tensor<i32>
    %v42 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v43 = stablehlo.compare NE, %v41, %v42, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v44 = stablehlo.not %v43 : tensor<i1>
    %v45 = stablehlo.and %v25, %v44 : tensor<i1>
    %v46 = stablehlo.broadcast_in_dim %v45, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v47 = stablehlo.select %v46, %v39, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %v9, %v47 : tensor<3x4x2xf16>, tensor<3xi32>
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
    %v5 = stablehlo.constant dense<"0x00000000"> : tensor<4xi32> loc(#loc0)
    %v6 = stablehlo.maximum %arg1, %v5 : tensor<4xi32> loc(#loc0)
    %v7 = stablehlo.constant dense<"0x04000000"> : tensor<4xi32> loc(#loc0)
    %v8 = stablehlo.minimum %v6, %v7 : tensor<4xi32> loc(#loc0)
    %v9 = stablehlo.constant dense<"0x05000000"> : tensor<4xi32> loc(#loc0)
    %v10 = stablehlo.select %v4, %v8, %v9 : tensor<4xi1>, tensor<4xi32> loc(#loc0)
    %v11 = stablehlo.iota dim = 0 : tensor<4xi32> loc(#loc0)
    %v12 = stablehlo.constant dense<"0xFFFFFFFF"> : tensor<5xi32> loc(#loc0)
    %v16 = "stablehlo.scatter"(%v12, %v10, %v11) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%v13: tensor<i32>, %v14: tensor<i32>):
      %v15 = stablehlo.maximum %v13, %v14 : tensor<i32> loc(#loc0)
      stablehlo.return %v15 : tensor<i32>
    }) : (tensor<5xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<5xi32>) loc(#loc0)
    %v17 = stablehlo.constant dense<"0x00000000"> : tensor<5xi32> loc(#loc0)
    %v18 = stablehlo.maximum %v16, %v17 : tensor<5xi32> loc(#loc0)
    %v19 = "stablehlo.gather"(%arg2, %v18) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1, 2>}> : (tensor<3x4x2xf16>, tensor<5xi32>) -> (tensor<3x5x2xf16>) loc(#loc0)
    %v20 = stablehlo.constant dense<"0x00000000"> : tensor<5xi32> loc(#loc0)
    %v21 = stablehlo.compare GE, %v16, %v20, SIGNED : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1> loc(#loc0)
    %v22 = stablehlo.broadcast_in_dim %v21, dims = [1] : (tensor<5xi1>) -> tensor<3x5x2xi1> loc(#loc0)
    %v23 = stablehlo.select %v22, %v19, %arg0 : tensor<3x5x2xi1>, tensor<3x5x2xf16> loc(#loc0)
    %v24 = stablehlo.convert %arg1 : (tensor<4xi32>) -> tensor<4xi64>
    %v25 = stablehlo.iota dim = 0 : tensor<4xi64>
    %v26 = stablehlo.constant dense<"0x0000000001000000"> : tensor<4xi64>
    %v27 = stablehlo.multiply %v25, %v26 : tensor<4xi64>
    %v28 = stablehlo.constant dense<"0x0000008000000000"> : tensor<4xi64>
    %v29 = stablehlo.add %v27, %v28 : tensor<4xi64>
    %v30 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<4xi64>
    %v31 = stablehlo.add %v29, %v24 : tensor<4xi64>
    %v32 = stablehlo.select %v4, %v30, %v31 : tensor<4xi1>, tensor<4xi64>
    %v33 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v37 = "stablehlo.reduce"(%v32, %v33) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v34: tensor<i64>, %v35: tensor<i64>):
      %v36 = stablehlo.minimum %v34, %v35 : tensor<i64>
      stablehlo.return %v36 : tensor<i64>
    }) : (tensor<4xi64>, tensor<i64>) -> (tensor<i64>)
    %v38 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v39 = stablehlo.compare NE, %v37, %v38, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v40 = stablehlo.constant dense<"0x2200000000000000"> : tensor<i64>
    %v41 = stablehlo.shift_right_logical %v37, %v40 : tensor<i64>
    %v42 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v43 = stablehlo.add %v41, %v42 : tensor<i64>
    %v44 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v45 = stablehlo.and %v37, %v44 : tensor<i64>
    %v46 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v47 = stablehlo.subtract %v45, %v46 : tensor<i64>
    %v48 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v49 = stablehlo.convert %v43 : (tensor<i64>) -> tensor<i32>
    %v50 = stablehlo.reshape %v49 : (tensor<i32>) -> tensor<1xi32>
    %v51 = stablehlo.convert %v47 : (tensor<i64>) -> tensor<i32>
    %v52 = stablehlo.reshape %v51 : (tensor<i32>) -> tensor<1xi32>
    %v53 = stablehlo.concatenate %v48, %v50, %v52, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v54 = "stablehlo.slice"(%arg3) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v55 = stablehlo.reshape %v54 : (tensor<1xi32>) -> tensor<i32>
    %v56 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v57 = stablehlo.compare NE, %v55, %v56, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v58 = stablehlo.not %v57 : tensor<i1>
    %v59 = stablehlo.and %v39, %v58 : tensor<i1>
    %v60 = stablehlo.broadcast_in_dim %v59, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v61 = stablehlo.select %v60, %v53, %arg3 : tensor<3xi1>, tensor<3xi32>
    return %v23, %v61 : tensor<3x5x2xf16>, tensor<3xi32>
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
    %v13 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v17 = "stablehlo.reduce"(%v12, %v13) <{dimensions = array<i64>}> ({
    ^bb0(%v14: tensor<f32>, %v15: tensor<f32>):
      %v16 = stablehlo.add %v14, %v15 : tensor<f32> loc(#loc0)
      stablehlo.return %v16 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>) loc(#loc0)
    %v18 = stablehlo.constant dense<"0x0000803F"> : tensor<5xf32> loc(#loc0)
    %v19 = stablehlo.divide %v17, %v18 : tensor<5xf32> loc(#loc0)
    %v20 = stablehlo.constant dense<"0x6F12833A"> : tensor<5xf32> loc(#loc0)
    %v21 = stablehlo.add %v19, %v20 : tensor<5xf32> loc(#loc0)
    %v22 = stablehlo.rsqrt %v21 : tensor<5xf32> loc(#loc0)
    %v23 = stablehlo.multiply %v1, %v22 : tensor<5xf32> loc(#loc0)
    %v24 = stablehlo.broadcast_in_dim %v23, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v25 = stablehlo.multiply %v11, %v24 : tensor<5xf32> loc(#loc0)
    %v26 = stablehlo.broadcast_in_dim %v2, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v27 = stablehlo.add %v25, %v26 : tensor<5xf32> loc(#loc0)
    %v28 = stablehlo.convert %v27 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    %v29 = stablehlo.convert %v9 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    %v30 = stablehlo.convert %v19 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    return %v28, %v29, %v30, %arg3 : tensor<5xf16>, tensor<5xf16>, tensor<5xf16>, tensor<3xi32>
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
    %v23 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v27 = "stablehlo.reduce"(%v22, %v23) <{dimensions = array<i64>}> ({
    ^bb0(%v24: tensor<f32>, %v25: tensor<f32>):
      %v26 = stablehlo.add %v24, %v25 : tensor<f32> loc(#loc0)
      stablehlo.return %v26 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>) loc(#loc0)
    %v28 = stablehlo.constant dense<"0x0000803F"> : tensor<5xf32> loc(#loc0)
    %v29 = stablehlo.divide %v27, %v28 : tensor<5xf32> loc(#loc0)
    %v30 = stablehlo.broadcast_in_dim %v29, dims = [0] : (tensor<5xf32>) -> tensor<5xf32> loc(#loc0)
    %v31 = stablehlo.subtract %v13, %v21 : tensor<5xf32> loc(#loc0)
    %v32 = stablehlo.multiply %v11, %v30 : tensor<5xf32> loc(#loc0)
    %v33 = stablehlo.subtract %v31, %v32 : tensor<5xf32> loc(#loc0)
    %v34 = stablehlo.multiply %v8, %v33 : tensor<5xf32> loc(#loc0)
    %v35 = stablehlo.multiply %v4, %v11 : tensor<5xf32> loc(#loc0)
    %v36 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v40 = "stablehlo.reduce"(%v35, %v36) <{dimensions = array<i64>}> ({
    ^bb0(%v37: tensor<f32>, %v38: tensor<f32>):
      %v39 = stablehlo.add %v37, %v38 : tensor<f32> loc(#loc0)
      stablehlo.return %v39 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>) loc(#loc0)
    %v41 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v45 = "stablehlo.reduce"(%v4, %v41) <{dimensions = array<i64>}> ({
    ^bb0(%v42: tensor<f32>, %v43: tensor<f32>):
      %v44 = stablehlo.add %v42, %v43 : tensor<f32> loc(#loc0)
      stablehlo.return %v44 : tensor<f32>
    }) : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>) loc(#loc0)
    %v46 = stablehlo.convert %v34 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    %v47 = stablehlo.convert %v40 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    %v48 = stablehlo.convert %v45 : (tensor<5xf32>) -> tensor<5xf16> loc(#loc0)
    return %v46, %v47, %v48, %arg5 : tensor<5xf16>, tensor<5xf16>, tensor<5xf16>, tensor<3xi32>
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
    %v13 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v17 = "stablehlo.reduce"(%v12, %v13) <{dimensions = array<i64: 1>}> ({
    ^bb0(%v14: tensor<f32>, %v15: tensor<f32>):
      %v16 = stablehlo.add %v14, %v15 : tensor<f32> loc(#loc0)
      stablehlo.return %v16 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v18 = stablehlo.constant dense<"0x00004040"> : tensor<4xf32> loc(#loc0)
    %v19 = stablehlo.divide %v17, %v18 : tensor<4xf32> loc(#loc0)
    %v20 = stablehlo.constant dense<"0x6F12833A"> : tensor<4xf32> loc(#loc0)
    %v21 = stablehlo.add %v19, %v20 : tensor<4xf32> loc(#loc0)
    %v22 = stablehlo.rsqrt %v21 : tensor<4xf32> loc(#loc0)
    %v23 = stablehlo.broadcast_in_dim %v22, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v24 = stablehlo.multiply %v11, %v23 : tensor<4x3xf32> loc(#loc0)
    %v25 = stablehlo.broadcast_in_dim %v1, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v26 = stablehlo.multiply %v24, %v25 : tensor<4x3xf32> loc(#loc0)
    %v27 = stablehlo.broadcast_in_dim %v2, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v28 = stablehlo.add %v26, %v27 : tensor<4x3xf32> loc(#loc0)
    %v29 = stablehlo.convert %v28 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    %v30 = stablehlo.convert %v9 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    %v31 = stablehlo.convert %v22 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    return %v29, %v30, %v31, %arg3 : tensor<4x3xf16>, tensor<4xf16>, tensor<4xf16>, tensor<3xi32>
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
    %v20 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v24 = "stablehlo.reduce"(%v19, %v20) <{dimensions = array<i64: 1>}> ({
    ^bb0(%v21: tensor<f32>, %v22: tensor<f32>):
      %v23 = stablehlo.add %v21, %v22 : tensor<f32> loc(#loc0)
      stablehlo.return %v23 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v25 = stablehlo.constant dense<"0x00004040"> : tensor<4xf32> loc(#loc0)
    %v26 = stablehlo.divide %v24, %v25 : tensor<4xf32> loc(#loc0)
    %v27 = stablehlo.broadcast_in_dim %v26, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v28 = stablehlo.subtract %v10, %v18 : tensor<4x3xf32> loc(#loc0)
    %v29 = stablehlo.multiply %v8, %v27 : tensor<4x3xf32> loc(#loc0)
    %v30 = stablehlo.subtract %v28, %v29 : tensor<4x3xf32> loc(#loc0)
    %v31 = stablehlo.multiply %v5, %v30 : tensor<4x3xf32> loc(#loc0)
    %v32 = stablehlo.multiply %v4, %v8 : tensor<4x3xf32> loc(#loc0)
    %v33 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v37 = "stablehlo.reduce"(%v32, %v33) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v34: tensor<f32>, %v35: tensor<f32>):
      %v36 = stablehlo.add %v34, %v35 : tensor<f32> loc(#loc0)
      stablehlo.return %v36 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> (tensor<3xf32>) loc(#loc0)
    %v38 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v42 = "stablehlo.reduce"(%v4, %v38) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v39: tensor<f32>, %v40: tensor<f32>):
      %v41 = stablehlo.add %v39, %v40 : tensor<f32> loc(#loc0)
      stablehlo.return %v41 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> (tensor<3xf32>) loc(#loc0)
    %v43 = stablehlo.convert %v31 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    %v44 = stablehlo.convert %v37 : (tensor<3xf32>) -> tensor<3xf16> loc(#loc0)
    %v45 = stablehlo.convert %v42 : (tensor<3xf32>) -> tensor<3xf16> loc(#loc0)
    return %v43, %v44, %v45, %arg5 : tensor<4x3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xi32>
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
    %v14 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v18 = "stablehlo.reduce"(%v13, %v14) <{dimensions = array<i64: 1, 3>}> ({
    ^bb0(%v15: tensor<f32>, %v16: tensor<f32>):
      %v17 = stablehlo.add %v15, %v16 : tensor<f32> loc(#loc0)
      stablehlo.return %v17 : tensor<f32>
    }) : (tensor<4x1x1x3xf32>, tensor<f32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v19 = stablehlo.constant dense<"0x00004040"> : tensor<4x1xf32> loc(#loc0)
    %v20 = stablehlo.divide %v18, %v19 : tensor<4x1xf32> loc(#loc0)
    %v21 = stablehlo.constant dense<"0x6F12833A"> : tensor<4x1xf32> loc(#loc0)
    %v22 = stablehlo.add %v20, %v21 : tensor<4x1xf32> loc(#loc0)
    %v23 = stablehlo.rsqrt %v22 : tensor<4x1xf32> loc(#loc0)
    %v24 = stablehlo.broadcast_in_dim %v23, dims = [0, 2] : (tensor<4x1xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v25 = stablehlo.multiply %v12, %v24 : tensor<4x1x1x3xf32> loc(#loc0)
    %v26 = stablehlo.reshape %v1 : (tensor<3xf32>) -> tensor<1x3xf32> loc(#loc0)
    %v27 = stablehlo.broadcast_in_dim %v26, dims = [2, 3] : (tensor<1x3xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v28 = stablehlo.multiply %v25, %v27 : tensor<4x1x1x3xf32> loc(#loc0)
    %v29 = stablehlo.reshape %v2 : (tensor<3xf32>) -> tensor<1x3xf32> loc(#loc0)
    %v30 = stablehlo.broadcast_in_dim %v29, dims = [2, 3] : (tensor<1x3xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v31 = stablehlo.add %v28, %v30 : tensor<4x1x1x3xf32> loc(#loc0)
    %v32 = stablehlo.reshape %v31 : (tensor<4x1x1x3xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v33 = stablehlo.convert %v32 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    %v34 = stablehlo.convert %v10 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    %v35 = stablehlo.convert %v23 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    return %v33, %v34, %v35, %arg3 : tensor<4x3xf16>, tensor<4x1xf16>, tensor<4x1xf16>, tensor<3xi32>
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
    %v23 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v27 = "stablehlo.reduce"(%v22, %v23) <{dimensions = array<i64: 1, 3>}> ({
    ^bb0(%v24: tensor<f32>, %v25: tensor<f32>):
      %v26 = stablehlo.add %v24, %v25 : tensor<f32> loc(#loc0)
      stablehlo.return %v26 : tensor<f32>
    }) : (tensor<4x1x1x3xf32>, tensor<f32>) -> (tensor<4x1xf32>) loc(#loc0)
    %v28 = stablehlo.constant dense<"0x00004040"> : tensor<4x1xf32> loc(#loc0)
    %v29 = stablehlo.divide %v27, %v28 : tensor<4x1xf32> loc(#loc0)
    %v30 = stablehlo.broadcast_in_dim %v29, dims = [0, 2] : (tensor<4x1xf32>) -> tensor<4x1x1x3xf32> loc(#loc0)
    %v31 = stablehlo.subtract %v13, %v21 : tensor<4x1x1x3xf32> loc(#loc0)
    %v32 = stablehlo.multiply %v11, %v30 : tensor<4x1x1x3xf32> loc(#loc0)
    %v33 = stablehlo.subtract %v31, %v32 : tensor<4x1x1x3xf32> loc(#loc0)
    %v34 = stablehlo.multiply %v8, %v33 : tensor<4x1x1x3xf32> loc(#loc0)
    %v35 = stablehlo.multiply %v6, %v11 : tensor<4x1x1x3xf32> loc(#loc0)
    %v36 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v40 = "stablehlo.reduce"(%v35, %v36) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%v37: tensor<f32>, %v38: tensor<f32>):
      %v39 = stablehlo.add %v37, %v38 : tensor<f32> loc(#loc0)
      stablehlo.return %v39 : tensor<f32>
    }) : (tensor<4x1x1x3xf32>, tensor<f32>) -> (tensor<1x3xf32>) loc(#loc0)
    %v41 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v45 = "stablehlo.reduce"(%v6, %v41) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%v42: tensor<f32>, %v43: tensor<f32>):
      %v44 = stablehlo.add %v42, %v43 : tensor<f32> loc(#loc0)
      stablehlo.return %v44 : tensor<f32>
    }) : (tensor<4x1x1x3xf32>, tensor<f32>) -> (tensor<1x3xf32>) loc(#loc0)
    %v46 = stablehlo.reshape %v34 : (tensor<4x1x1x3xf32>) -> tensor<4x3xf32> loc(#loc0)
    %v47 = stablehlo.reshape %v40 : (tensor<1x3xf32>) -> tensor<3xf32> loc(#loc0)
    %v48 = stablehlo.reshape %v45 : (tensor<1x3xf32>) -> tensor<3xf32> loc(#loc0)
    %v49 = stablehlo.convert %v46 : (tensor<4x3xf32>) -> tensor<4x3xf16> loc(#loc0)
    %v50 = stablehlo.convert %v47 : (tensor<3xf32>) -> tensor<3xf16> loc(#loc0)
    %v51 = stablehlo.convert %v48 : (tensor<3xf32>) -> tensor<3xf16> loc(#loc0)
    return %v49, %v50, %v51, %arg5 : tensor<4x3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xi32>
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
    %v21 = stablehlo.constant dense<"0x00000000"> : tensor<4xi32> loc(#loc0)
    %v22 = stablehlo.maximum %arg1, %v21 : tensor<4xi32> loc(#loc0)
    %v23 = stablehlo.constant dense<"0x00000000"> : tensor<4xi32> loc(#loc0)
    %v24 = stablehlo.minimum %v22, %v23 : tensor<4xi32> loc(#loc0)
    %v25 = "stablehlo.gather"(%v15, %v24) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<1xi32>, tensor<4xi32>) -> (tensor<4xi32>) loc(#loc0)
    %v26 = stablehlo.iota dim = 1 : tensor<4x1xi32> loc(#loc0)
    %v27 = stablehlo.broadcast_in_dim %v25, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32> loc(#loc0)
    %v28 = stablehlo.compare EQ, %v26, %v27, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1> loc(#loc0)
    %v29 = stablehlo.constant dense<"0x00000000"> : tensor<4x1xf32> loc(#loc0)
    %v30 = stablehlo.select %v28, %v7, %v29 : tensor<4x1xi1>, tensor<4x1xf32> loc(#loc0)
    %v31 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
    %v35 = "stablehlo.reduce"(%v30, %v31) <{dimensions = array<i64: 1>}> ({
    ^bb0(%v32: tensor<f32>, %v33: tensor<f32>):
      %v34 = stablehlo.add %v32, %v33 : tensor<f32> loc(#loc0)
      stablehlo.return %v34 : tensor<f32>
    }) : (tensor<4x1xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
    %v36 = stablehlo.subtract %v14, %v35 : tensor<4xf32> loc(#loc0)
    %v37 = stablehlo.add %v5, %v14 : tensor<4xf32> loc(#loc0)
    %v38 = stablehlo.convert %v36 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    %v39 = stablehlo.convert %v37 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    %v40 = stablehlo.convert %arg1 : (tensor<4xi32>) -> tensor<4xi64>
    %v41 = stablehlo.iota dim = 0 : tensor<4xi64>
    %v42 = stablehlo.constant dense<"0x0000000001000000"> : tensor<4xi64>
    %v43 = stablehlo.multiply %v41, %v42 : tensor<4xi64>
    %v44 = stablehlo.constant dense<"0x0000008000000000"> : tensor<4xi64>
    %v45 = stablehlo.add %v43, %v44 : tensor<4xi64>
    %v46 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<4xi64>
    %v47 = stablehlo.add %v45, %v40 : tensor<4xi64>
    %v48 = stablehlo.select %v20, %v46, %v47 : tensor<4xi1>, tensor<4xi64>
    %v49 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v53 = "stablehlo.reduce"(%v48, %v49) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v50: tensor<i64>, %v51: tensor<i64>):
      %v52 = stablehlo.minimum %v50, %v51 : tensor<i64>
      stablehlo.return %v52 : tensor<i64>
    }) : (tensor<4xi64>, tensor<i64>) -> (tensor<i64>)
    %v54 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v55 = stablehlo.compare NE, %v53, %v54, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v56 = stablehlo.constant dense<"0x2200000000000000"> : tensor<i64>
    %v57 = stablehlo.shift_right_logical %v53, %v56 : tensor<i64>
    %v58 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v59 = stablehlo.add %v57, %v58 : tensor<i64>
    %v60 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v61 = stablehlo.and %v53, %v60 : tensor<i64>
    %v62 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v63 = stablehlo.subtract %v61, %v62 : tensor<i64>
    %v64 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v65 = stablehlo.convert %v59 : (tensor<i64>) -> tensor<i32>
    %v66 = stablehlo.reshape %v65 : (tensor<i32>) -> tensor<1xi32>
    %v67 = stablehlo.convert %v63 : (tensor<i64>) -> tensor<i32>
    %v68 = stablehlo.reshape %v67 : (tensor<i32>) -> tensor<1xi32>
    %v69 = stablehlo.concatenate %v64, %v66, %v68, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v70 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v71 = stablehlo.reshape %v70 : (tensor<1xi32>) -> tensor<i32>
    %v72 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v73 = stablehlo.compare NE, %v71, %v72, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v74 = stablehlo.not %v73 : tensor<i1>
    %v75 = stablehlo.and %v55, %v74 : tensor<i1>
    %v76 = stablehlo.broadcast_in_dim %v75, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v77 = stablehlo.select %v76, %v69, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %v38, %v39, %v77 : tensor<4xf16>, tensor<4xf16>, tensor<3xi32>
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
    %v12 = stablehlo.constant dense<"0x0000000000000000"> : tensor<4xi64> loc(#loc0)
    %v13 = stablehlo.maximum %arg1, %v12 : tensor<4xi64> loc(#loc0)
    %v14 = stablehlo.constant dense<"0x0000000000000000"> : tensor<4xi64> loc(#loc0)
    %v15 = stablehlo.minimum %v13, %v14 : tensor<4xi64> loc(#loc0)
    %v16 = stablehlo.convert %v15 : (tensor<4xi64>) -> tensor<4xi32> loc(#loc0)
    %v17 = "stablehlo.gather"(%v6, %v16) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<1xi32>, tensor<4xi32>) -> (tensor<4xi32>) loc(#loc0)
    %v18 = stablehlo.iota dim = 1 : tensor<4x1xi32> loc(#loc0)
    %v19 = stablehlo.broadcast_in_dim %v17, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32> loc(#loc0)
    %v20 = stablehlo.compare EQ, %v18, %v19, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1> loc(#loc0)
    %v21 = stablehlo.convert %v20 : (tensor<4x1xi1>) -> tensor<4x1xf32> loc(#loc0)
    %v22 = stablehlo.subtract %v5, %v21 : tensor<4x1xf32> loc(#loc0)
    %v23 = stablehlo.broadcast_in_dim %v2, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32> loc(#loc0)
    %v24 = stablehlo.multiply %v22, %v23 : tensor<4x1xf32> loc(#loc0)
    %v25 = stablehlo.convert %v24 : (tensor<4x1xf32>) -> tensor<4x1xf16> loc(#loc0)
    %v26 = stablehlo.constant dense<"0x00000080FFFFFFFF"> : tensor<4xi64>
    %v27 = stablehlo.constant dense<"0xFFFFFF7F00000000"> : tensor<4xi64>
    %v28 = stablehlo.minimum %v27, %arg1 : tensor<4xi64>
    %v29 = stablehlo.maximum %v26, %v28 : tensor<4xi64>
    %v30 = stablehlo.iota dim = 0 : tensor<4xi64>
    %v31 = stablehlo.constant dense<"0x0000000001000000"> : tensor<4xi64>
    %v32 = stablehlo.multiply %v30, %v31 : tensor<4xi64>
    %v33 = stablehlo.constant dense<"0x0000008000000000"> : tensor<4xi64>
    %v34 = stablehlo.add %v32, %v33 : tensor<4xi64>
    %v35 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<4xi64>
    %v36 = stablehlo.add %v34, %v29 : tensor<4xi64>
    %v37 = stablehlo.select %v11, %v35, %v36 : tensor<4xi1>, tensor<4xi64>
    %v38 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v42 = "stablehlo.reduce"(%v37, %v38) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v39: tensor<i64>, %v40: tensor<i64>):
      %v41 = stablehlo.minimum %v39, %v40 : tensor<i64>
      stablehlo.return %v41 : tensor<i64>
    }) : (tensor<4xi64>, tensor<i64>) -> (tensor<i64>)
    %v43 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v44 = stablehlo.compare NE, %v42, %v43, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v45 = stablehlo.constant dense<"0x2200000000000000"> : tensor<i64>
    %v46 = stablehlo.shift_right_logical %v42, %v45 : tensor<i64>
    %v47 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v48 = stablehlo.add %v46, %v47 : tensor<i64>
    %v49 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v50 = stablehlo.and %v42, %v49 : tensor<i64>
    %v51 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v52 = stablehlo.subtract %v50, %v51 : tensor<i64>
    %v53 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v54 = stablehlo.convert %v48 : (tensor<i64>) -> tensor<i32>
    %v55 = stablehlo.reshape %v54 : (tensor<i32>) -> tensor<1xi32>
    %v56 = stablehlo.convert %v52 : (tensor<i64>) -> tensor<i32>
    %v57 = stablehlo.reshape %v56 : (tensor<i32>) -> tensor<1xi32>
    %v58 = stablehlo.concatenate %v53, %v55, %v57, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v59 = "stablehlo.slice"(%arg4) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v60 = stablehlo.reshape %v59 : (tensor<1xi32>) -> tensor<i32>
    %v61 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v62 = stablehlo.compare NE, %v60, %v61, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v63 = stablehlo.not %v62 : tensor<i1>
    %v64 = stablehlo.and %v44, %v63 : tensor<i1>
    %v65 = stablehlo.broadcast_in_dim %v64, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v66 = stablehlo.select %v65, %v58, %arg4 : tensor<3xi1>, tensor<3xi32>
    return %v25, %v66 : tensor<4x1xf16>, tensor<3xi32>
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
    %v29 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v30 = stablehlo.shift_right_logical %v27, %v29 : tensor<27xui64>
    %v31 = stablehlo.convert %v30 : (tensor<27xui64>) -> tensor<27xui32>
    %v32 = stablehlo.xor %v31, %v7 : tensor<27xui32>
    %v33 = stablehlo.xor %v32, %v2 : tensor<27xui32>
    %v34 = stablehlo.xor %v24, %v13 : tensor<27xui32>
    %v35 = stablehlo.xor %v34, %v5 : tensor<27xui32>
    %v36 = stablehlo.add %v2, %v16 : tensor<27xui32>
    %v37 = stablehlo.add %v5, %v17 : tensor<27xui32>
    %v38 = stablehlo.convert %v33 : (tensor<27xui32>) -> tensor<27xui64>
    %v39 = stablehlo.convert %v14 : (tensor<27xui32>) -> tensor<27xui64>
    %v40 = stablehlo.multiply %v38, %v39 : tensor<27xui64>
    %v41 = stablehlo.multiply %v33, %v14 : tensor<27xui32>
    %v42 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v43 = stablehlo.shift_right_logical %v40, %v42 : tensor<27xui64>
    %v44 = stablehlo.convert %v43 : (tensor<27xui64>) -> tensor<27xui32>
    %v45 = stablehlo.convert %v35 : (tensor<27xui32>) -> tensor<27xui64>
    %v46 = stablehlo.convert %v15 : (tensor<27xui32>) -> tensor<27xui64>
    %v47 = stablehlo.multiply %v45, %v46 : tensor<27xui64>
    %v48 = stablehlo.multiply %v35, %v15 : tensor<27xui32>
    %v49 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v50 = stablehlo.shift_right_logical %v47, %v49 : tensor<27xui64>
    %v51 = stablehlo.convert %v50 : (tensor<27xui64>) -> tensor<27xui32>
    %v52 = stablehlo.xor %v51, %v28 : tensor<27xui32>
    %v53 = stablehlo.xor %v52, %v36 : tensor<27xui32>
    %v54 = stablehlo.xor %v44, %v21 : tensor<27xui32>
    %v55 = stablehlo.xor %v54, %v37 : tensor<27xui32>
    %v56 = stablehlo.add %v36, %v16 : tensor<27xui32>
    %v57 = stablehlo.add %v37, %v17 : tensor<27xui32>
    %v58 = stablehlo.convert %v53 : (tensor<27xui32>) -> tensor<27xui64>
    %v59 = stablehlo.convert %v14 : (tensor<27xui32>) -> tensor<27xui64>
    %v60 = stablehlo.multiply %v58, %v59 : tensor<27xui64>
    %v61 = stablehlo.multiply %v53, %v14 : tensor<27xui32>
    %v62 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v63 = stablehlo.shift_right_logical %v60, %v62 : tensor<27xui64>
    %v64 = stablehlo.convert %v63 : (tensor<27xui64>) -> tensor<27xui32>
    %v65 = stablehlo.convert %v55 : (tensor<27xui32>) -> tensor<27xui64>
    %v66 = stablehlo.convert %v15 : (tensor<27xui32>) -> tensor<27xui64>
    %v67 = stablehlo.multiply %v65, %v66 : tensor<27xui64>
    %v68 = stablehlo.multiply %v55, %v15 : tensor<27xui32>
    %v69 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v70 = stablehlo.shift_right_logical %v67, %v69 : tensor<27xui64>
    %v71 = stablehlo.convert %v70 : (tensor<27xui64>) -> tensor<27xui32>
    %v72 = stablehlo.xor %v71, %v48 : tensor<27xui32>
    %v73 = stablehlo.xor %v72, %v56 : tensor<27xui32>
    %v74 = stablehlo.xor %v64, %v41 : tensor<27xui32>
    %v75 = stablehlo.xor %v74, %v57 : tensor<27xui32>
    %v76 = stablehlo.add %v56, %v16 : tensor<27xui32>
    %v77 = stablehlo.add %v57, %v17 : tensor<27xui32>
    %v78 = stablehlo.convert %v73 : (tensor<27xui32>) -> tensor<27xui64>
    %v79 = stablehlo.convert %v14 : (tensor<27xui32>) -> tensor<27xui64>
    %v80 = stablehlo.multiply %v78, %v79 : tensor<27xui64>
    %v81 = stablehlo.multiply %v73, %v14 : tensor<27xui32>
    %v82 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v83 = stablehlo.shift_right_logical %v80, %v82 : tensor<27xui64>
    %v84 = stablehlo.convert %v83 : (tensor<27xui64>) -> tensor<27xui32>
    %v85 = stablehlo.convert %v75 : (tensor<27xui32>) -> tensor<27xui64>
    %v86 = stablehlo.convert %v15 : (tensor<27xui32>) -> tensor<27xui64>
    %v87 = stablehlo.multiply %v85, %v86 : tensor<27xui64>
    %v88 = stablehlo.multiply %v75, %v15 : tensor<27xui32>
    %v89 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v90 = stablehlo.shift_right_logical %v87, %v89 : tensor<27xui64>
    %v91 = stablehlo.convert %v90 : (tensor<27xui64>) -> tensor<27xui32>
    %v92 = stablehlo.xor %v91, %v68 : tensor<27xui32>
    %v93 = stablehlo.xor %v92, %v76 : tensor<27xui32>
    %v94 = stablehlo.xor %v84, %v61 : tensor<27xui32>
    %v95 = stablehlo.xor %v94, %v77 : tensor<27xui32>
    %v96 = stablehlo.add %v76, %v16 : tensor<27xui32>
    %v97 = stablehlo.add %v77, %v17 : tensor<27xui32>
    %v98 = stablehlo.convert %v93 : (tensor<27xui32>) -> tensor<27xui64>
    %v99 = stablehlo.convert %v14 : (tensor<27xui32>) -> tensor<27xui64>
    %v100 = stablehlo.multiply %v98, %v99 : tensor<27xui64>
    %v101 = stablehlo.multiply %v93, %v14 : tensor<27xui32>
    %v102 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v103 = stablehlo.shift_right_logical %v100, %v102 : tensor<27xui64>
    %v104 = stablehlo.convert %v103 : (tensor<27xui64>) -> tensor<27xui32>
    %v105 = stablehlo.convert %v95 : (tensor<27xui32>) -> tensor<27xui64>
    %v106 = stablehlo.convert %v15 : (tensor<27xui32>) -> tensor<27xui64>
    %v107 = stablehlo.multiply %v105, %v106 : tensor<27xui64>
    %v108 = stablehlo.multiply %v95, %v15 : tensor<27xui32>
    %v109 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v110 = stablehlo.shift_right_logical %v107, %v109 : tensor<27xui64>
    %v111 = stablehlo.convert %v110 : (tensor<27xui64>) -> tensor<27xui32>
    %v112 = stablehlo.xor %v111, %v88 : tensor<27xui32>
    %v113 = stablehlo.xor %v112, %v96 : tensor<27xui32>
    %v114 = stablehlo.xor %v104, %v81 : tensor<27xui32>
    %v115 = stablehlo.xor %v114, %v97 : tensor<27xui32>
    %v116 = stablehlo.add %v96, %v16 : tensor<27xui32>
    %v117 = stablehlo.add %v97, %v17 : tensor<27xui32>
    %v118 = stablehlo.convert %v113 : (tensor<27xui32>) -> tensor<27xui64>
    %v119 = stablehlo.convert %v14 : (tensor<27xui32>) -> tensor<27xui64>
    %v120 = stablehlo.multiply %v118, %v119 : tensor<27xui64>
    %v121 = stablehlo.multiply %v113, %v14 : tensor<27xui32>
    %v122 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v123 = stablehlo.shift_right_logical %v120, %v122 : tensor<27xui64>
    %v124 = stablehlo.convert %v123 : (tensor<27xui64>) -> tensor<27xui32>
    %v125 = stablehlo.convert %v115 : (tensor<27xui32>) -> tensor<27xui64>
    %v126 = stablehlo.convert %v15 : (tensor<27xui32>) -> tensor<27xui64>
    %v127 = stablehlo.multiply %v125, %v126 : tensor<27xui64>
    %v128 = stablehlo.multiply %v115, %v15 : tensor<27xui32>
    %v129 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v130 = stablehlo.shift_right_logical %v127, %v129 : tensor<27xui64>
    %v131 = stablehlo.convert %v130 : (tensor<27xui64>) -> tensor<27xui32>
    %v132 = stablehlo.xor %v131, %v108 : tensor<27xui32>
    %v133 = stablehlo.xor %v132, %v116 : tensor<27xui32>
    %v134 = stablehlo.xor %v124, %v101 : tensor<27xui32>
    %v135 = stablehlo.xor %v134, %v117 : tensor<27xui32>
    %v136 = stablehlo.add %v116, %v16 : tensor<27xui32>
    %v137 = stablehlo.add %v117, %v17 : tensor<27xui32>
    %v138 = stablehlo.convert %v133 : (tensor<27xui32>) -> tensor<27xui64>
    %v139 = stablehlo.convert %v14 : (tensor<27xui32>) -> tensor<27xui64>
    %v140 = stablehlo.multiply %v138, %v139 : tensor<27xui64>
    %v141 = stablehlo.multiply %v133, %v14 : tensor<27xui32>
    %v142 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v143 = stablehlo.shift_right_logical %v140, %v142 : tensor<27xui64>
    %v144 = stablehlo.convert %v143 : (tensor<27xui64>) -> tensor<27xui32>
    %v145 = stablehlo.convert %v135 : (tensor<27xui32>) -> tensor<27xui64>
    %v146 = stablehlo.convert %v15 : (tensor<27xui32>) -> tensor<27xui64>
    %v147 = stablehlo.multiply %v145, %v146 : tensor<27xui64>
    %v148 = stablehlo.multiply %v135, %v15 : tensor<27xui32>
    %v149 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v150 = stablehlo.shift_right_logical %v147, %v149 : tensor<27xui64>
    %v151 = stablehlo.convert %v150 : (tensor<27xui64>) -> tensor<27xui32>
    %v152 = stablehlo.xor %v151, %v128 : tensor<27xui32>
    %v153 = stablehlo.xor %v152, %v136 : tensor<27xui32>
    %v154 = stablehlo.xor %v144, %v121 : tensor<27xui32>
    %v155 = stablehlo.xor %v154, %v137 : tensor<27xui32>
    %v156 = stablehlo.add %v136, %v16 : tensor<27xui32>
    %v157 = stablehlo.add %v137, %v17 : tensor<27xui32>
    %v158 = stablehlo.convert %v153 : (tensor<27xui32>) -> tensor<27xui64>
    %v159 = stablehlo.convert %v14 : (tensor<27xui32>) -> tensor<27xui64>
    %v160 = stablehlo.multiply %v158, %v159 : tensor<27xui64>
    %v161 = stablehlo.multiply %v153, %v14 : tensor<27xui32>
    %v162 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v163 = stablehlo.shift_right_logical %v160, %v162 : tensor<27xui64>
    %v164 = stablehlo.convert %v163 : (tensor<27xui64>) -> tensor<27xui32>
    %v165 = stablehlo.convert %v155 : (tensor<27xui32>) -> tensor<27xui64>
    %v166 = stablehlo.convert %v15 : (tensor<27xui32>) -> tensor<27xui64>
    %v167 = stablehlo.multiply %v165, %v166 : tensor<27xui64>
    %v168 = stablehlo.multiply %v155, %v15 : tensor<27xui32>
    %v169 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v170 = stablehlo.shift_right_logical %v167, %v169 : tensor<27xui64>
    %v171 = stablehlo.convert %v170 : (tensor<27xui64>) -> tensor<27xui32>
    %v172 = stablehlo.xor %v171, %v148 : tensor<27xui32>
    %v173 = stablehlo.xor %v172, %v156 : tensor<27xui32>
    %v174 = stablehlo.xor %v164, %v141 : tensor<27xui32>
    %v175 = stablehlo.xor %v174, %v157 : tensor<27xui32>
    %v176 = stablehlo.add %v156, %v16 : tensor<27xui32>
    %v177 = stablehlo.add %v157, %v17 : tensor<27xui32>
    %v178 = stablehlo.convert %v173 : (tensor<27xui32>) -> tensor<27xui64>
    %v179 = stablehlo.convert %v14 : (tensor<27xui32>) -> tensor<27xui64>
    %v180 = stablehlo.multiply %v178, %v179 : tensor<27xui64>
    %v181 = stablehlo.multiply %v173, %v14 : tensor<27xui32>
    %v182 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v183 = stablehlo.shift_right_logical %v180, %v182 : tensor<27xui64>
    %v184 = stablehlo.convert %v183 : (tensor<27xui64>) -> tensor<27xui32>
    %v185 = stablehlo.convert %v175 : (tensor<27xui32>) -> tensor<27xui64>
    %v186 = stablehlo.convert %v15 : (tensor<27xui32>) -> tensor<27xui64>
    %v187 = stablehlo.multiply %v185, %v186 : tensor<27xui64>
    %v188 = stablehlo.multiply %v175, %v15 : tensor<27xui32>
    %v189 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v190 = stablehlo.shift_right_logical %v187, %v189 : tensor<27xui64>
    %v191 = stablehlo.convert %v190 : (tensor<27xui64>) -> tensor<27xui32>
    %v192 = stablehlo.xor %v191, %v168 : tensor<27xui32>
    %v193 = stablehlo.xor %v192, %v176 : tensor<27xui32>
    %v194 = stablehlo.xor %v184, %v161 : tensor<27xui32>
    %v195 = stablehlo.xor %v194, %v177 : tensor<27xui32>
    %v196 = stablehlo.add %v176, %v16 : tensor<27xui32>
    %v197 = stablehlo.add %v177, %v17 : tensor<27xui32>
    %v198 = stablehlo.convert %v193 : (tensor<27xui32>) -> tensor<27xui64>
    %v199 = stablehlo.convert %v14 : (tensor<27xui32>) -> tensor<27xui64>
    %v200 = stablehlo.multiply %v198, %v199 : tensor<27xui64>
    %v201 = stablehlo.multiply %v193, %v14 : tensor<27xui32>
    %v202 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v203 = stablehlo.shift_right_logical %v200, %v202 : tensor<27xui64>
    %v204 = stablehlo.convert %v203 : (tensor<27xui64>) -> tensor<27xui32>
    %v205 = stablehlo.convert %v195 : (tensor<27xui32>) -> tensor<27xui64>
    %v206 = stablehlo.convert %v15 : (tensor<27xui32>) -> tensor<27xui64>
    %v207 = stablehlo.multiply %v205, %v206 : tensor<27xui64>
    %v208 = stablehlo.multiply %v195, %v15 : tensor<27xui32>
    %v209 = stablehlo.constant dense<"0x2000000000000000"> : tensor<27xui64>
    %v210 = stablehlo.shift_right_logical %v207, %v209 : tensor<27xui64>
    %v211 = stablehlo.convert %v210 : (tensor<27xui64>) -> tensor<27xui32>
    %v212 = stablehlo.xor %v211, %v188 : tensor<27xui32>
    %v213 = stablehlo.xor %v212, %v196 : tensor<27xui32>
    %v214 = stablehlo.xor %v204, %v181 : tensor<27xui32>
    %v215 = stablehlo.xor %v214, %v197 : tensor<27xui32>
    %v216 = stablehlo.add %v196, %v16 : tensor<27xui32>
    %v217 = stablehlo.add %v197, %v17 : tensor<27xui32>
    %v218 = stablehlo.reshape %v213 : (tensor<27xui32>) -> tensor<27x1xui32>
    %v219 = stablehlo.reshape %v208 : (tensor<27xui32>) -> tensor<27x1xui32>
    %v220 = stablehlo.reshape %v215 : (tensor<27xui32>) -> tensor<27x1xui32>
    %v221 = stablehlo.reshape %v201 : (tensor<27xui32>) -> tensor<27x1xui32>
    %v222 = stablehlo.concatenate %v218, %v219, %v220, %v221, dim = 1 : (tensor<27x1xui32>, tensor<27x1xui32>, tensor<27x1xui32>, tensor<27x1xui32>) -> tensor<27x4xui32>
    %v223 = stablehlo.reshape %v222 : (tensor<27x4xui32>) -> tensor<108xui32>
    return %v223 : tensor<108xui32>
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
    %v25 = stablehlo.constant dense<"0x00000000"> : tensor<2x2x3xf32> loc(#loc0)
    %v26 = stablehlo.compare EQ, %v22, %v25, FLOAT : (tensor<2x2x3xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xi1> loc(#loc0)
    %v27 = stablehlo.constant dense<"0x0000803F"> : tensor<2x2x3xf32> loc(#loc0)
    %v28 = stablehlo.select %v26, %v27, %v22 : tensor<2x2x3xi1>, tensor<2x2x3xf32> loc(#loc0)
    %v29 = stablehlo.broadcast_in_dim %v28, dims = [0, 1, 2] : (tensor<2x2x3xf32>) -> tensor<2x2x3x5xf32> loc(#loc0)
    %v30 = stablehlo.divide %v17, %v29 : tensor<2x2x3x5xf32> loc(#loc0)
    %v31 = stablehlo.dot_general %v30, %v2, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x2x3x5xf32>, tensor<2x5x2x3xf32>) -> tensor<2x2x3x3xf32> loc(#loc0)
    %v32 = stablehlo.transpose %v31, dims = [0, 2, 1, 3] : (tensor<2x2x3x3xf32>) -> tensor<2x3x2x3xf32> loc(#loc0)
    %v33 = stablehlo.convert %v32 : (tensor<2x3x2x3xf32>) -> tensor<2x3x2x3xf16> loc(#loc0)
    %v34 = stablehlo.convert %v24 : (tensor<2x2x3xf32>) -> tensor<2x2x3xf16> loc(#loc0)
    return %v33, %v34, %arg3 : tensor<2x3x2x3xf16>, tensor<2x2x3xf16>, tensor<3xi32>
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
    %v27 = stablehlo.constant dense<"0x0000003F"> : tensor<2x2x3x5xf32> loc(#loc0)
    %v28 = stablehlo.multiply %v26, %v27 : tensor<2x2x3x5xf32> loc(#loc0)
    %v29 = stablehlo.dot_general %v28, %v1, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x2x3x5xf32>, tensor<2x5x2x4xf32>) -> tensor<2x2x3x4xf32> loc(#loc0)
    %v30 = stablehlo.transpose %v29, dims = [0, 2, 1, 3] : (tensor<2x2x3x4xf32>) -> tensor<2x3x2x4xf32> loc(#loc0)
    %v31 = stablehlo.dot_general %v28, %v0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x2x3x5xf32>, tensor<2x3x2x4xf32>) -> tensor<2x2x5x4xf32> loc(#loc0)
    %v32 = stablehlo.transpose %v31, dims = [0, 2, 1, 3] : (tensor<2x2x5x4xf32>) -> tensor<2x5x2x4xf32> loc(#loc0)
    %v33 = stablehlo.dot_general %v15, %v5, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x2x3x5xf32>, tensor<2x3x2x3xf32>) -> tensor<2x2x5x3xf32> loc(#loc0)
    %v34 = stablehlo.transpose %v33, dims = [0, 2, 1, 3] : (tensor<2x2x5x3xf32>) -> tensor<2x5x2x3xf32> loc(#loc0)
    %v35 = stablehlo.convert %v30 : (tensor<2x3x2x4xf32>) -> tensor<2x3x2x4xf16> loc(#loc0)
    %v36 = stablehlo.convert %v32 : (tensor<2x5x2x4xf32>) -> tensor<2x5x2x4xf16> loc(#loc0)
    %v37 = stablehlo.convert %v34 : (tensor<2x5x2x3xf32>) -> tensor<2x5x2x3xf16> loc(#loc0)
    return %v35, %v36, %v37, %arg6 : tensor<2x3x2x4xf16>, tensor<2x5x2x4xf16>, tensor<2x5x2x3xf16>, tensor<3xi32>
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
    %v12 = stablehlo.constant dense<"0x05000000"> : tensor<9xui32> loc(#loc0)
    %v13 = stablehlo.compare LT, %v11, %v12, UNSIGNED : (tensor<9xui32>, tensor<9xui32>) -> tensor<9xi1> loc(#loc0)
    %v14 = stablehlo.constant dense<"0x04000000"> : tensor<9xui32> loc(#loc0)
    %v15 = stablehlo.minimum %v11, %v14 : tensor<9xui32> loc(#loc0)
    %v16 = stablehlo.convert %v15 : (tensor<9xui32>) -> tensor<9xi32> loc(#loc0)
    %v17 = "stablehlo.gather"(%v0, %v16) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<9xi32>) -> (tensor<9xf32>) loc(#loc0)
    %v18 = stablehlo.constant dense<"0x84697D3E8E4A24BFF8972DBD4A1F09403133123F3D7791BF319441BEAE1C23BB41CBB1BC"> : tensor<9xf32> loc(#loc0)
    %v19 = stablehlo.broadcast_in_dim %v18, dims = [0] : (tensor<9xf32>) -> tensor<9xf32> loc(#loc0)
    %v20 = stablehlo.multiply %v17, %v19 : tensor<9xf32> loc(#loc0)
    %v21 = stablehlo.add %v10, %v20 : tensor<9xf32> loc(#loc0)
    %v22 = stablehlo.convert %v21 : (tensor<9xf32>) -> tensor<9xf16> loc(#loc0)
    return %v22, %arg1 : tensor<9xf16>, tensor<3xi32>
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
    %v118:5 = "stablehlo.while"(%v6, %v3, %v2, %v5, %v4) ({
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
      %v65 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
      %v69 = "stablehlo.reduce"(%v64, %v65) <{dimensions = array<i64: 1>}> ({
      ^bb0(%v66: tensor<f32>, %v67: tensor<f32>):
        %v68 = stablehlo.add %v66, %v67 : tensor<f32> loc(#loc0)
        stablehlo.return %v68 : tensor<f32>
      }) : (tensor<4x7xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
      %v70 = stablehlo.broadcast_in_dim %v21, dims = [] : (tensor<i32>) -> tensor<4xi32> loc(#loc0)
      %v71 = stablehlo.compare NE, %v61#1, %v70, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc0)
      %v72 = stablehlo.sign %v69 : tensor<4xf32> loc(#loc0)
      %v73 = stablehlo.constant dense<"0x000080BF"> : tensor<4xf32> loc(#loc0)
      %v74 = stablehlo.constant dense<"0x0000803F"> : tensor<4xf32> loc(#loc0)
      %v75 = stablehlo.select %v71, %v73, %v74 : tensor<4xi1>, tensor<4xf32> loc(#loc0)
      %v76 = stablehlo.multiply %v72, %v75 : tensor<4xf32> loc(#loc0)
      %v77 = stablehlo.multiply %v16, %v76 : tensor<4xf32> loc(#loc0)
      %v78 = stablehlo.abs %v69 : tensor<4xf32> loc(#loc0)
      %v79 = stablehlo.log %v78 : tensor<4xf32> loc(#loc0)
      %v80 = stablehlo.add %v17, %v79 : tensor<4xf32> loc(#loc0)
      %v81 = stablehlo.broadcast_in_dim %v63, dims = [0, 1] : (tensor<4x7xi1>) -> tensor<4x7x10xi1> loc(#loc0)
      %v82 = stablehlo.constant dense<"0x00000000"> : tensor<4x7x10xf32> loc(#loc0)
      %v83 = stablehlo.select %v81, %v15, %v82 : tensor<4x7x10xi1>, tensor<4x7x10xf32> loc(#loc0)
      %v84 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
      %v88 = "stablehlo.reduce"(%v83, %v84) <{dimensions = array<i64: 1>}> ({
      ^bb0(%v85: tensor<f32>, %v86: tensor<f32>):
        %v87 = stablehlo.add %v85, %v86 : tensor<f32> loc(#loc0)
        stablehlo.return %v87 : tensor<f32>
      }) : (tensor<4x7x10xf32>, tensor<f32>) -> (tensor<4x10xf32>) loc(#loc0)
      %v89 = stablehlo.broadcast_in_dim %v69, dims = [0] : (tensor<4xf32>) -> tensor<4x10xf32> loc(#loc0)
      %v90 = stablehlo.divide %v88, %v89 : tensor<4x10xf32> loc(#loc0)
      %v91 = stablehlo.broadcast_in_dim %v90, dims = [0, 2] : (tensor<4x10xf32>) -> tensor<4x7x10xf32> loc(#loc0)
      %v92 = stablehlo.broadcast_in_dim %v63, dims = [0, 1] : (tensor<4x7xi1>) -> tensor<4x7x10xi1> loc(#loc0)
      %v93 = stablehlo.broadcast_in_dim %v26, dims = [0, 1] : (tensor<4x7xi1>) -> tensor<4x7x10xi1> loc(#loc0)
      %v94 = stablehlo.constant dense<"0x00000000"> : tensor<4x7x10xf32> loc(#loc0)
      %v95 = stablehlo.select %v93, %v15, %v94 : tensor<4x7x10xi1>, tensor<4x7x10xf32> loc(#loc0)
      %v96 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
      %v100 = "stablehlo.reduce"(%v95, %v96) <{dimensions = array<i64: 1>}> ({
      ^bb0(%v97: tensor<f32>, %v98: tensor<f32>):
        %v99 = stablehlo.add %v97, %v98 : tensor<f32> loc(#loc0)
        stablehlo.return %v99 : tensor<f32>
      }) : (tensor<4x7x10xf32>, tensor<f32>) -> (tensor<4x10xf32>) loc(#loc0)
      %v101 = stablehlo.broadcast_in_dim %v100, dims = [0, 2] : (tensor<4x10xf32>) -> tensor<4x7x10xf32> loc(#loc0)
      %v102 = stablehlo.select %v92, %v101, %v15 : tensor<4x7x10xi1>, tensor<4x7x10xf32> loc(#loc0)
      %v103 = stablehlo.select %v26, %v34, %v35 : tensor<4x7xi1>, tensor<4x7xf32> loc(#loc0)
      %v104 = stablehlo.constant dense<"0x00000000"> : tensor<f32> loc(#loc0)
      %v108 = "stablehlo.reduce"(%v103, %v104) <{dimensions = array<i64: 1>}> ({
      ^bb0(%v105: tensor<f32>, %v106: tensor<f32>):
        %v107 = stablehlo.add %v105, %v106 : tensor<f32> loc(#loc0)
        stablehlo.return %v107 : tensor<f32>
      }) : (tensor<4x7xf32>, tensor<f32>) -> (tensor<4xf32>) loc(#loc0)
      %v109 = stablehlo.broadcast_in_dim %v108, dims = [0] : (tensor<4xf32>) -> tensor<4x7xf32> loc(#loc0)
      %v110 = stablehlo.select %v63, %v109, %v34 : tensor<4x7xi1>, tensor<4x7xf32> loc(#loc0)
      %v111 = stablehlo.broadcast_in_dim %v26, dims = [0, 1] : (tensor<4x7xi1>) -> tensor<4x7x10xi1> loc(#loc0)
      %v112 = stablehlo.broadcast_in_dim %v110, dims = [0, 1] : (tensor<4x7xf32>) -> tensor<4x7x10xf32> loc(#loc0)
      %v113 = stablehlo.multiply %v112, %v91 : tensor<4x7x10xf32> loc(#loc0)
      %v114 = stablehlo.subtract %v102, %v113 : tensor<4x7x10xf32> loc(#loc0)
      %v115 = stablehlo.select %v111, %v91, %v114 : tensor<4x7x10xi1>, tensor<4x7x10xf32> loc(#loc0)
      %v116 = stablehlo.constant dense<"0x01000000"> : tensor<i32> loc(#loc0)
      %v117 = stablehlo.add %v14, %v116 : tensor<i32> loc(#loc0)
      stablehlo.return %v117, %v115, %v77, %v80, %v18 : tensor<i32>, tensor<4x7x10xf32>, tensor<4xf32>, tensor<4xf32>, tensor<7xi32>
    }) : (tensor<i32>, tensor<4x7x10xf32>, tensor<4xf32>, tensor<4xf32>, tensor<7xi32>) -> (tensor<i32>, tensor<4x7x10xf32>, tensor<4xf32>, tensor<4xf32>, tensor<7xi32>) loc(#loc0)
    %v119 = "stablehlo.slice"(%v118#1) <{limit_indices = array<i64: 4, 7, 10>, start_indices = array<i64: 0, 0, 7>, strides = array<i64: 1, 1, 1>}> : (tensor<4x7x10xf32>) -> (tensor<4x7x3xf32>) loc(#loc0)
    %v120 = stablehlo.convert %v119 : (tensor<4x7x3xf32>) -> tensor<4x7x3xf16> loc(#loc0)
    %v121 = stablehlo.convert %v118#2 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    %v122 = stablehlo.convert %v118#3 : (tensor<4xf32>) -> tensor<4xf16> loc(#loc0)
    return %v120, %v121, %v122, %arg2 : tensor<4x7x3xf16>, tensor<4xf16>, tensor<4xf16>, tensor<3xi32>
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
    %v5 = stablehlo.constant dense<"0x00000000"> : tensor<9xi32> loc(#loc0)
    %v6 = stablehlo.maximum %arg1, %v5 : tensor<9xi32> loc(#loc0)
    %v7 = stablehlo.constant dense<"0x06000000"> : tensor<9xi32> loc(#loc0)
    %v8 = stablehlo.minimum %v6, %v7 : tensor<9xi32> loc(#loc0)
    %v9 = "stablehlo.gather"(%arg0, %v8) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<7x1xf16>, tensor<9xi32>) -> (tensor<9x1xf16>) loc(#loc0)
    %v10 = stablehlo.convert %arg1 : (tensor<9xi32>) -> tensor<9xi64>
    %v11 = stablehlo.iota dim = 0 : tensor<9xi64>
    %v12 = stablehlo.constant dense<"0x0000000001000000"> : tensor<9xi64>
    %v13 = stablehlo.multiply %v11, %v12 : tensor<9xi64>
    %v14 = stablehlo.constant dense<"0x0000008000000000"> : tensor<9xi64>
    %v15 = stablehlo.add %v13, %v14 : tensor<9xi64>
    %v16 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<9xi64>
    %v17 = stablehlo.add %v15, %v10 : tensor<9xi64>
    %v18 = stablehlo.select %v4, %v16, %v17 : tensor<9xi1>, tensor<9xi64>
    %v19 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v23 = "stablehlo.reduce"(%v18, %v19) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v20: tensor<i64>, %v21: tensor<i64>):
      %v22 = stablehlo.minimum %v20, %v21 : tensor<i64>
      stablehlo.return %v22 : tensor<i64>
    }) : (tensor<9xi64>, tensor<i64>) -> (tensor<i64>)
    %v24 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v25 = stablehlo.compare NE, %v23, %v24, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v26 = stablehlo.constant dense<"0x2400000000000000"> : tensor<i64>
    %v27 = stablehlo.shift_right_logical %v23, %v26 : tensor<i64>
    %v28 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v29 = stablehlo.add %v27, %v28 : tensor<i64>
    %v30 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v31 = stablehlo.and %v23, %v30 : tensor<i64>
    %v32 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v33 = stablehlo.subtract %v31, %v32 : tensor<i64>
    %v34 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v35 = stablehlo.convert %v29 : (tensor<i64>) -> tensor<i32>
    %v36 = stablehlo.reshape %v35 : (tensor<i32>) -> tensor<1xi32>
    %v37 = stablehlo.convert %v33 : (tensor<i64>) -> tensor<i32>
    %v38 = stablehlo.reshape %v37 : (tensor<i32>) -> tensor<1xi32>
    %v39 = stablehlo.concatenate %v34, %v36, %v38, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v40 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v41 = stablehlo.reshape %v40 : (tensor<1xi32>) -> tensor<i32>
    %v42 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v43 = stablehlo.compare NE, %v41, %v42, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v44 = stablehlo.not %v43 : tensor<i1>
    %v45 = stablehlo.and %v25, %v44 : tensor<i1>
    %v46 = stablehlo.broadcast_in_dim %v45, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v47 = stablehlo.select %v46, %v39, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %v9, %v47 : tensor<9x1xf16>, tensor<3xi32>
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
    %v7 = stablehlo.constant dense<"0x00000000"> : tensor<9xi32> loc(#loc0)
    %v8 = stablehlo.maximum %arg1, %v7 : tensor<9xi32> loc(#loc0)
    %v9 = stablehlo.constant dense<"0x06000000"> : tensor<9xi32> loc(#loc0)
    %v10 = stablehlo.minimum %v8, %v9 : tensor<9xi32> loc(#loc0)
    %v11 = stablehlo.constant dense<"0x07000000"> : tensor<9xi32> loc(#loc0)
    %v12 = stablehlo.select %v6, %v10, %v11 : tensor<9xi1>, tensor<9xi32> loc(#loc0)
    %v16 = "stablehlo.scatter"(%v1, %v12, %v0) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%v13: tensor<f32>, %v14: tensor<f32>):
      %v15 = stablehlo.add %v13, %v14 : tensor<f32> loc(#loc0)
      stablehlo.return %v15 : tensor<f32>
    }) : (tensor<7x1xf32>, tensor<9xi32>, tensor<9x1xf32>) -> (tensor<7x1xf32>) loc(#loc0)
    %v17 = stablehlo.convert %v16 : (tensor<7x1xf32>) -> tensor<7x1xf16> loc(#loc0)
    %v18 = stablehlo.convert %arg1 : (tensor<9xi32>) -> tensor<9xi64>
    %v19 = stablehlo.iota dim = 0 : tensor<9xi64>
    %v20 = stablehlo.constant dense<"0x0000000001000000"> : tensor<9xi64>
    %v21 = stablehlo.multiply %v19, %v20 : tensor<9xi64>
    %v22 = stablehlo.constant dense<"0x0000008000000000"> : tensor<9xi64>
    %v23 = stablehlo.add %v21, %v22 : tensor<9xi64>
    %v24 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<9xi64>
    %v25 = stablehlo.add %v23, %v18 : tensor<9xi64>
    %v26 = stablehlo.select %v6, %v24, %v25 : tensor<9xi1>, tensor<9xi64>
    %v27 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v31 = "stablehlo.reduce"(%v26, %v27) <{dimensions = array<i64: 0>}> ({
    ^bb0(%v28: tensor<i64>, %v29: tensor<i64>):
      %v30 = stablehlo.minimum %v28, %v29 : tensor<i64>
      stablehlo.return %v30 : tensor<i64>
    }) : (tensor<9xi64>, tensor<i64>) -> (tensor<i64>)
    %v32 = stablehlo.constant dense<"0xFFFFFFFFFFFFFF7F"> : tensor<i64>
    %v33 = stablehlo.compare NE, %v31, %v32, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %v34 = stablehlo.constant dense<"0x2400000000000000"> : tensor<i64>
    %v35 = stablehlo.shift_right_logical %v31, %v34 : tensor<i64>
    %v36 = stablehlo.constant dense<"0x0100000000000000"> : tensor<i64>
    %v37 = stablehlo.add %v35, %v36 : tensor<i64>
    %v38 = stablehlo.constant dense<"0xFFFFFFFF00000000"> : tensor<i64>
    %v39 = stablehlo.and %v31, %v38 : tensor<i64>
    %v40 = stablehlo.constant dense<"0x0000008000000000"> : tensor<i64>
    %v41 = stablehlo.subtract %v39, %v40 : tensor<i64>
    %v42 = stablehlo.constant dense<"0x00000000"> : tensor<1xi32>
    %v43 = stablehlo.convert %v37 : (tensor<i64>) -> tensor<i32>
    %v44 = stablehlo.reshape %v43 : (tensor<i32>) -> tensor<1xi32>
    %v45 = stablehlo.convert %v41 : (tensor<i64>) -> tensor<i32>
    %v46 = stablehlo.reshape %v45 : (tensor<i32>) -> tensor<1xi32>
    %v47 = stablehlo.concatenate %v42, %v44, %v46, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %v48 = "stablehlo.slice"(%arg3) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<3xi32>) -> (tensor<1xi32>)
    %v49 = stablehlo.reshape %v48 : (tensor<1xi32>) -> tensor<i32>
    %v50 = stablehlo.constant dense<"0x00000000"> : tensor<i32>
    %v51 = stablehlo.compare NE, %v49, %v50, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v52 = stablehlo.not %v51 : tensor<i1>
    %v53 = stablehlo.and %v33, %v52 : tensor<i1>
    %v54 = stablehlo.broadcast_in_dim %v53, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %v55 = stablehlo.select %v54, %v47, %arg3 : tensor<3xi1>, tensor<3xi32>
    return %v17, %v55 : tensor<7x1xf16>, tensor<3xi32>
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
    %v1 = stablehlo.constant dense<"0x00000000"> : tensor<4x2x3xf32> loc(#loc0)
    %v2 = stablehlo.constant dense<"0x00000000"> : tensor<i32> loc(#loc0)
    %v23:5 = "stablehlo.while"(%v2, %arg0, %arg1, %v0, %v1) ({
    ^bb0(%v3: tensor<i32>, %v4: tensor<2x3xf32>, %v5: tensor<2x3xf32>, %v6: tensor<4x2x3xf32>, %v7: tensor<4x2x3xf32>):
      %v8 = stablehlo.constant dense<"0x04000000"> : tensor<i32> loc(#loc0)
      %v9 = stablehlo.compare LT, %v3, %v8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> loc(#loc0)
      stablehlo.return %v9 : tensor<i1>
    }, {
    ^bb0(%v10: tensor<i32>, %v11: tensor<2x3xf32>, %v12: tensor<2x3xf32>, %v13: tensor<4x2x3xf32>, %v14: tensor<4x2x3xf32>):
      %v15 = stablehlo.constant dense<"0x00000000"> : tensor<i32> loc(#loc0)
      %v16 = stablehlo.add %v11, %v12 : tensor<2x3xf32> loc(#loc0)
      %v17 = stablehlo.constant dense<"0x01000000"> : tensor<i32> loc(#loc0)
      %v18 = stablehlo.add %v10, %v17 : tensor<i32> loc(#loc0)
      %v19 = stablehlo.reshape %v11 : (tensor<2x3xf32>) -> tensor<1x2x3xf32> loc(#loc0)
      %v20 = "stablehlo.dynamic_update_slice"(%v13, %v19, %v10, %v15, %v15) : (tensor<4x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<4x2x3xf32>) loc(#loc0)
      %v21 = stablehlo.reshape %v11 : (tensor<2x3xf32>) -> tensor<1x2x3xf32> loc(#loc0)
      %v22 = "stablehlo.dynamic_update_slice"(%v14, %v21, %v10, %v15, %v15) : (tensor<4x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<4x2x3xf32>) loc(#loc0)
      stablehlo.return %v18, %v12, %v16, %v20, %v22 : tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>
    }) : (tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>) -> (tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>) loc(#loc0)
    return %v23#1, %v23#2, %v23#3, %v23#4, %arg2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>, tensor<3xi32>
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

