// Running a program under Marple, and reading what it has left behind.
package e2e
