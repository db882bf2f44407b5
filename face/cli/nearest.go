package cli

// nearest is the word that differs least from name, if it is near enough to be
// what was meant; of equally near ones the first.
func nearest(name string, words []string) string {
	best, bestDist := "", max(1, len(name)/3)+1
	for _, w := range words {
		if d := distance(name, w); d < bestDist {
			best, bestDist = w, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to make a out of b.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	const most = 64
	if len(ra) > most || len(rb) > most {
		return most
	}
	d := make([][]int, len(ra)+1)
	for i := range d {
		d[i] = make([]int, len(rb)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(ra); i++ {
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(ra)][len(rb)]
}
