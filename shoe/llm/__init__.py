"""What raters behind an HTTP endpoint share: where it is, what it takes, what its errors mean, when to try again."""
