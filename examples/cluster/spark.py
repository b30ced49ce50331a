#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the lines of each partition through the program, from its standard input to its standard output: spark-submit --files program spark.py LINES RESULTS

Rows have their vectors in them, as `"vector": [...]`. A partition that fails is run again by Spark; a line that is an error has a row that says so."""
import sys

COMMAND = "./program --lines - --output -"


def main():
    from pyspark.sql import SparkSession

    lines, results = sys.argv[1:]
    spark = SparkSession.builder.appName("lines").getOrCreate()
    rows = spark.sparkContext.textFile(lines).pipe(f"sh -c '{COMMAND} || test $? = 1'", checkCode=True)
    rows.saveAsTextFile(results)


if __name__ == "__main__":
    main()
