package org.apache.hadoop.fs.local;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local files, whose rights are set by the JVM. Without Hadoop's native library its own
 * starts a program for each: six thousand of an environment, on each node.
 */
public class QuickLocalFs extends LocalFs {
  QuickLocalFs(URI uri, Configuration conf) throws IOException, URISyntaxException {
    super(uri, conf);
  }

  @Override
  public void setPermission(Path path, FsPermission rights) throws IOException {
    if (rights.getStickyBit()) {
      super.setPermission(path, rights);
      return;
    }
    String text =
        rights.getUserAction().SYMBOL
            + rights.getGroupAction().SYMBOL
            + rights.getOtherAction().SYMBOL;
    Files.setPosixFilePermissions(
        Paths.get(path.toUri().getPath()), PosixFilePermissions.fromString(text));
  }
}
