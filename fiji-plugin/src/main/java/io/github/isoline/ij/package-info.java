/** Isoline's commands for ImageJ 1.x: dialogs, macro keys, images in and out. */
package io.github.isoline.ij;
