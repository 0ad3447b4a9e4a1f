package model

// Error is the standard error of the mean at a point, from those of the coefficients; 0 where the model does not
// know them.
func (p *Predictor) Error(x []float64) float64 {
	if p.slopes == nil {
		return 0
	}
	return p.uncertainty(x)
}
