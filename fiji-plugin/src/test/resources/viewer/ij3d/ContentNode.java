package ij3d;

/** A stand-in for the class of this name. */
public abstract class ContentNode {}
