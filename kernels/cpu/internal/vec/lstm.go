package vec

// LstmCell computes one step of an LSTM cell for one example with len(carry) units. z holds the sums of the gates
// input, forget, candidate and output, one after the other:
//
//	gates = sigmoid(z), of the candidate tanh(z)
//	next  = forget·carry + input·candidate
//	h     = output·tanh(next)
//
// gates may be z, and next may be carry.
func LstmCell[T Float](h, next, gates, z, carry []T) {
	n := len(carry)
	h, next, gates, z = h[:n], next[:n], gates[:4*n], z[:4*n]
	done := 0
	if single[T]() {
		done = lstmCell32(as32(h), as32(next), as32(gates), as32(z), as32(carry))
	}
	if done == n {
		return
	}
	for g := range 4 {
		from, to := z[g*n+done:(g+1)*n], gates[g*n+done:(g+1)*n]
		if g == 2 {
			Tanh(to, from)
		} else {
			Sigmoid(to, from)
		}
	}
	Mul(h[done:], gates[done:n], gates[2*n+done:3*n])
	Mul(next[done:], gates[n+done:2*n], carry[done:])
	Add(next[done:], next[done:], h[done:])
	Tanh(h[done:], next[done:])
	Mul(h[done:], h[done:], gates[3*n+done:])
}

// LstmCellGrad computes the gradient of [LstmCell] with respect to z and the carry, from its gates, the carry, and the
// gradients of h and next. dz may be gates, and dcarry may be dnext.
func LstmCellGrad[T Float](dz, dcarry, gates, carry, dh, dnext []T) {
	n := len(carry)
	dz, dcarry, gates, dh, dnext = dz[:4*n], dcarry[:n], gates[:4*n], dh[:n], dnext[:n]
	done := 0
	if single[T]() {
		done = lstmCellGrad32(as32(dz), as32(dcarry), as32(gates), as32(carry), as32(dh), as32(dnext))
	} else {
		done = lstmCellGrad64(as64(dz), as64(dcarry), as64(gates), as64(carry), as64(dh), as64(dnext))
	}
	var room [cellUnits]T
	for i := done; i < n; i++ {
		input, forget, candidate, output := gates[i], gates[n+i], gates[2*n+i], gates[3*n+i]
		if (i-done)%cellUnits == 0 { // dz may be gates, whose units from here on are still intact
			ahead := room[:min(cellUnits, n-i)]
			for j := range ahead {
				ahead[j] = gates[n+i+j]*carry[i+j] + gates[i+j]*gates[2*n+i+j]
			}
			Tanh(ahead, ahead)
		}
		t := room[(i-done)%cellUnits]
		d := dnext[i] + dh[i]*output*(1-t*t)
		dz[i] = d * candidate * (input * (1 - input))
		dz[n+i] = d * carry[i] * (forget * (1 - forget))
		dz[2*n+i] = d * input * (1 - candidate*candidate)
		dz[3*n+i] = dh[i] * t * (output * (1 - output))
		dcarry[i] = d * forget
	}
}
