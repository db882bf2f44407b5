package store

// Announced is the latest state that every subscription and feed has heard of:
// what Take and Next gave after this call tells all changes up to its revision.
// View may be newer by a commit whose announcement is still under way.
func (s *Store) Announced() *View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.viewLocked()
}
