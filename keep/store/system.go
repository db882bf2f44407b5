package store

// addSystemTables adds the tables that the store itself needs.
func addSystemTables(*Schema) {}
