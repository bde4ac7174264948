package customnode;

/** A stand-in for the class of this name. */
public abstract class CustomMesh {}
